#include "torch_pch.h"
