// A training run, disturbed at every single write, fsync and rename.
#include "cli/faults.h"

namespace as2::testing {
namespace {

namespace fs = std::filesystem;

// A run is several files that have to agree. After each fault it is resumed, or begun again where it had not
// begun, and ends as an undisturbed one.
TEST_F(Faults, ATrainingRun) {
  const std::string train =
      "train sudoku --preset tiny --epochs 1 --batch 16 --set data.train=32 --set data.validation=8 "
      "--set train.stop_at=2 --set train.validate_seconds=1e6 --set model.reasoner.width=16 "
      "--set model.reasoner.passes=3 --set train.log_steps=1 --tensorboard --device cpu --quiet";
  fill_out({});
  const std::vector<Fault> faults = faults_of(train + " --out out/run");
  const Files whole = files_in(folder_ / "out/run");
  ASSERT_EQ(whole.count("model.safetensors"), 1u);
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.text());
    fill_out({});
    const Finished finished = run(train + " --out out/run", fault.text());
    EXPECT_EQ(finished.exit_code, fault.kill ? 137 : 4)
        << finished.err;  // what a shell reports for a killed process
    for (const auto& [name, bytes] : files_in(folder_ / "out")) {
      EXPECT_TRUE(fault.kill || !is_temporary(name)) << name;
    }
    const bool begun = fs::exists(folder_ / "out/run/state.safetensors");
    const Finished again = run_as2(
        folder_.str(), begun ? "train --resume out/run --device cpu --quiet" : train + " --out out/run");
    ASSERT_EQ(again.exit_code, 0) << again.err;
    const Files after = files_in(folder_ / "out/run");
    for (const char* name : {"model.safetensors", "state.safetensors", "metrics.jsonl", "config.toml"})
      EXPECT_EQ(after.count(name), 1u) << name;
    EXPECT_EQ(after.at("model.safetensors"), whole.at("model.safetensors"));
  }
}

}  // namespace
}  // namespace as2::testing
