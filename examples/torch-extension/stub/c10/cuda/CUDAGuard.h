// Stands for a header of torch: kb_torch_stub.h.
#pragma once
#include "../../kb_torch_stub.h"
