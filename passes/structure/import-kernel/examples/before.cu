// scale.h defines the kernel 'scale', which no pass may change there.
#include "scale.h"

void twice(float *out, const float *in, int n) {
  scale<<<(n + 255) / 256, 256>>>(out, in, 2.0f, n);
}
