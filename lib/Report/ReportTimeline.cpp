//===- ReportTimeline.cpp - When a search got where ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReportParts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace kbopt;
using namespace kbopt::report;

/// Places in the drawing; each event has a row of its own, so that no names meet.
static constexpr double left = 8, right = 700, rowHeight = 24, top = 10;

bool report::writeTimeline(raw_ostream &os, const ReportPage &page) {
  if (page.timeline.empty() || page.seconds <= 0)
    return false;
  const double height = top + rowHeight * static_cast<double>(page.timeline.size() + 1);
  Scale x{0, page.seconds, left, right, false};
  os << "<section id=\"timeline\">\n<h2>Timeline</h2>\n";
  os << formatv("<svg viewBox=\"0 0 {0} {1}\" role=\"img\"><title>seconds from the start to each "
                "first event</title>\n",
                right + 20, height + 16);
  for (double tick : x.ticks(8)) {
    os << formatv("<line class=\"grid\" x1=\"{0:f1}\" y1=\"{1}\" x2=\"{0:f1}\" y2=\"{2}\" />\n",
                  x(tick), top, height);
    os << formatv(
        "<text class=\"soft\" text-anchor=\"middle\" x=\"{0:f1}\" y=\"{1}\">{2} s</text>\n",
        x(tick), height + 13, format("%g", tick));
  }
  double y = top + rowHeight / 2;
  for (const auto &[event, seconds] : page.timeline) {
    os << formatv("<line class=\"best\" x1=\"{0}\" y1=\"{1}\" x2=\"{2:f1}\" y2=\"{1}\" />\n", left,
                  y, x(seconds));
    // Late events have their names on the left of the mark.
    const bool isLate = x(seconds) > right * 0.6;
    os << formatv("<text x=\"{0:f1}\" y=\"{1}\" text-anchor=\"{2}\">{3}, {4:f1} s</text>\n",
                  x(seconds) + (isLate ? -6 : 6), y - 4, isLate ? "end" : "start", escaped(event),
                  seconds);
    y += rowHeight;
  }
  os << "</svg>\n</section>\n";
  return true;
}
