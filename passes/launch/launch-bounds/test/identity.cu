// A file without kernels has no sites, and nothing changes.
// RUN: kb-opt -passes=launch-bounds --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: count 0 < %t.yaml
__device__ float twice(float x) { return 2.0f * x; }
