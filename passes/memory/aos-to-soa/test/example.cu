// The documented example, held to the byte.
// RUN: kb-opt -passes=aos-to-soa --quiet -o %t.cu %S/../examples/before.cu
// RUN: diff %S/../examples/after.cu %t.cu
// Applying the pass to its own result changes nothing.
// RUN: kb-opt -passes=aos-to-soa --quiet -o %t.again.cu %t.cu
// RUN: diff %t.cu %t.again.cu
// It is right, and neighbouring lanes load neighbouring words.
// RUN: kb-opt --judge=%S/../examples/after.cu %S/../examples/before.cu 2>&1 | FileCheck %s
// CHECK: {{^}}correct
// RUN: kb-opt --profile %S/../examples/before.cu 2>&1 | FileCheck --check-prefix=BEFORE %s
// BEFORE: drift:
// BEFORE: Global Load Sectors {{ *}}32768.00
// RUN: kb-opt --profile %S/../examples/after.cu 2>&1 | FileCheck --check-prefix=AFTER %s
// AFTER: drift:
// AFTER: Global Load Sectors {{ *}}4096.00
