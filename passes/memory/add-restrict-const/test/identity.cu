// A kernel without pointers has no sites, and nothing changes.
// RUN: kb-opt -passes=add-restrict-const --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: count 0 < %t.yaml
__global__ void nothing(int n) {
  if (n < 0)
    __trap();
}
