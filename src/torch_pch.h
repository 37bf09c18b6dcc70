// The precompiled header of everything that uses LibTorch; the build includes it, no source file does.
#include <torch/torch.h>
