// as2-tensor: the verbs that need LibTorch. `as2` starts this program for them.
#include "cli/run.h"
#include "cli/threads.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace as2::cli;
  const std::vector<Verb> verbs = {
      {"bench", "Performance figures, as ratios in one run", declare_bench},
      {"check", "What the supervision of a task can determine", declare_check_shortcuts},
      {"predict", "A trained model on given pictures: beliefs, answer, probabilities",
       declare_predict_with_torch, "give fewer examples at a time"},
      {"solve", "Pictures of boards in, solved boards out", declare_solve_with_torch,
       "give fewer pictures at a time"},
      {"tp", "Image, residual, loss and gradient of soft T_P at given beliefs", declare_tp,
       "a smaller instance of the program needs less, and so do fewer documents at a time"},
      {"demo", "The main job on shipped weights: boards solved and shown, the paper's tables beside ours",
       declare_demo_with_torch,
       "fewer boards need hardly less: free some memory, or raise the limit (ulimit -v)"},
      {"eval", "The paper's tables, measured with a trained model", declare_eval_with_torch,
       "evaluate fewer examples: --count 100"},
      {"train", "Trains a task's networks", declare_train, "a smaller batch or model needs less: --batch 64"},
  };
  return run(argc, argv, verbs, declare_threads);
}
