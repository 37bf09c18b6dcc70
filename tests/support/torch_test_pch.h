// The precompiled header of the tests on LibTorch; the build includes it, no source file does.
#include <torch/torch.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
