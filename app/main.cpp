// as2: the command line. Verbs without `declare` need tensors and live in as2-tensor (tensor_main.cpp).
#include "cli/run.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace as2::cli;
  const std::vector<Verb> verbs = {
      {"bench", "Performance figures, as ratios in one run", nullptr},
      {"check", "Compiles a program and shows its positions, families and groups", declare_check,
       "a smaller instance of the program needs less"},
      {"data", "Fetches and checks MNIST, generates boards and tuples, renders images", declare_data,
       "make fewer at a time, or raise the limit (ulimit -v)"},
      {"decode", "An assignment that satisfies the program, from beliefs", declare_decode,
       "a smaller instance of the program needs less, and so do fewer documents or --threads 1"},
      {"predict", "A trained model on given pictures: beliefs, answer, probabilities", declare_predict,
       "give fewer examples at a time"},
      {"prob", "Exact probabilities of the program, of queries and of every symbol", declare_prob,
       "a smaller instance of the program needs less"},
      {"serve", "The page in the browser, and a JSON API with the verbs' own documents", declare_serve,
       "free some memory, or raise the limit (ulimit -v)"},
      {"solve", "Pictures of boards in, solved boards out", declare_solve, "give fewer pictures at a time"},
      {"tp", "Image, residual, loss and gradient of soft T_P at given beliefs", nullptr},
      {"verify", "Asks clingo whether assignments are answer sets, and names what they violate",
       declare_verify, "a smaller instance of the program needs less, and so do fewer assignments at a time"},
      {"demo", "The main job on shipped weights: boards solved and shown, the paper's tables beside ours",
       declare_demo, "fewer boards need hardly less: free some memory, or raise the limit (ulimit -v)"},
      {"eval", "The paper's tables, measured with a trained model", declare_eval,
       "evaluate fewer examples: --count 100"},
      {"train", "Trains a task's networks", nullptr},
  };
  return run(argc, argv, verbs);
}
