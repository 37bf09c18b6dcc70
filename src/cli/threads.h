#pragma once

namespace CLI {
class App;
}

namespace as2::cli {

// Gives LibTorch all cores (Debian's build starts with one thread) and the verb the option `--threads N`.
void declare_threads(CLI::App& command);

}  // namespace as2::cli
