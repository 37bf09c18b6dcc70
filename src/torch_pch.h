// The one precompiled header of everything on LibTorch; not included by hand.
#include <torch/torch.h>
