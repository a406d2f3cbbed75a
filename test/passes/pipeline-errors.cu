// RUN: not kb-opt -passes= %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: the pipeline is empty
// EMPTY: note: {{.*}}--list-passes

// RUN: not kb-opt -passes='unroll-loop,vectorise-loads' %s 2>&1 | FileCheck %s --check-prefix=NAME --strict-whitespace
// NAME: error: there is no pass 'vectorise-loads'
// NAME-NEXT:{{^}}  unroll-loop,vectorise-loads
// NAME-NEXT:{{^}}              ^
// NAME: note: did you mean 'vectorize-loads'?

// RUN: not kb-opt -passes='unroll-loop{facter=8}' %s 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: pass 'unroll-loop' has no option 'facter'
// OPTION: note: did you mean 'factor'?

// RUN: not kb-opt -passes='unroll-loop{factor=99}' %s 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: '99' is no value for option 'factor' of 'unroll-loop'

// RUN: not kb-opt -passes='unroll-loop{kernel=sclae}' %s 2>&1 | FileCheck %s --check-prefix=KERNEL
// KERNEL: has no kernel 'sclae'
// KERNEL: note: did you mean 'scale'?

// RUN: not kb-opt -passes='unroll-loop{site=3}' %s 2>&1 | FileCheck %s --check-prefix=SITE
// SITE: names site 3, but there are 0 sites

__global__ void scale(float *x) { x[threadIdx.x] *= 2.0f; }
