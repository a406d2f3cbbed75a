// The documented example, held to the byte, and right.
// RUN: kb-opt -passes=simplify-reduction --quiet -o %t.cu %S/../examples/before.cu
// RUN: diff %S/../examples/after.cu %t.cu
// RUN: %if long %{ kb-opt --judge=%S/../examples/after.cu --promise=reassociates --workload=%S/workload.yaml %S/../examples/before.cu | FileCheck %s %}
// CHECK: {{^}}correct
