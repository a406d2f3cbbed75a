//===- Sketches.h - The sketches of the library -----------------*- C++ -*-===//
//
// Owns one declaration per sketch. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_SKETCHES_H
#define KBOPT_LIB_SCHEDULE_SKETCHES_H

#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

// const Sketch &rowsSketch();

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_SKETCHES_H
