#define FACTOR 2.0f
#define UNUSED 1
__device__ inline float timesFactor(float value) { return value * FACTOR; }
