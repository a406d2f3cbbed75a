//===- ReportCharts.cpp - Gain over time, and the roofline ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two drawings that stand side by side. The roofline is that of Williams,
// Waterman and Patterson (2009) in floating-point operations; where a kernel has none, or
// they are unknown, it is Ding and Williams' (2019) in warp instructions.
//
//===----------------------------------------------------------------------===//
#include "ReportParts.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::report;
using llvm::formatv;
using llvm::StringRef;

namespace {

constexpr double width = 560, height = 350, left = 58, right = 545, top = 14, bottom = 300;

void openChart(llvm::raw_ostream &os, StringRef label) {
  os << formatv(
      "<div class=\"scroll\"><svg class=\"chart\" viewBox=\"0 0 {0:f0} {1:f0}\" role=\"img\" "
      "aria-label=\"{2}\">\n",
      width, height, label);
}

void line(llvm::raw_ostream &os, StringRef kind, double x1, double y1, double x2, double y2) {
  os << formatv("<line class=\"{0}\" x1=\"{1:f1}\" y1=\"{2:f1}\" x2=\"{3:f1}\" y2=\"{4:f1}\" />\n",
                kind, x1, y1, x2, y2);
}

/// \p text is escaped already.
void label(llvm::raw_ostream &os, double x, double y, StringRef text, StringRef attributes) {
  os << formatv("<text x=\"{0:f1}\" y=\"{1:f1}\" {2}>{3}</text>\n", x, y, attributes, text);
}

void writeAxes(llvm::raw_ostream &os, StringRef below, StringRef beside) {
  line(os, "axis", left, bottom, right, bottom);
  line(os, "axis", left, top, left, bottom);
  label(os, (left + right) / 2, height - 8, below, "class=\"soft\" text-anchor=\"middle\"");
  label(os, 0, 0, beside,
        formatv(
            "class=\"soft\" text-anchor=\"middle\" transform=\"translate(14 {0:f0}) rotate(-90)\"",
            (top + bottom) / 2)
            .str());
}

} // namespace

//===-- Gain over time ----------------------------------------------------===//

/// For each attempt the place between judged candidates: those that were not judged
/// share the way to the next one.
static std::vector<double> placesOf(const ReportPage &page) {
  std::vector<double> places;
  double judged = 0;
  size_t since = 0; // first of those behind the last judged one
  auto spread = [&](size_t end) {
    for (size_t i = since; i != end; ++i)
      places[i] = judged + double(i - since + 1) / double(end - since + 1);
  };
  for (const ReportAttempt &attempt : page.attempts) {
    places.push_back(0);
    if (!attempt.judged)
      continue;
    spread(places.size() - 1);
    places.back() = ++judged;
    since = places.size();
  }
  spread(places.size());
  return places;
}

bool report::writeGainChart(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.attempts.empty() || page.originalUs <= 0)
    return false;
  auto speedup = [&](double us) { return us > 0 ? page.originalUs / us : 0; };
  double most = std::max(1.0, page.found ? speedup(page.bestUs) : 1);
  for (const ReportAttempt &attempt : page.attempts)
    most = std::max(most, speedup(attempt.us));
  std::vector<double> places = placesOf(page);
  const double strip = bottom - 22; // below it stands what has no time
  Scale x{0, std::max({1.0, double(page.judged), places.back()}), left + 8, right - 8, false};
  Scale y{0, most * 1.08, strip - 6, top + 4, false};

  os << "<section id=\"gain\">\n<h2>Gain over time</h2>\n";
  openChart(os, "speed-up over judged candidates");
  for (double tick : y.ticks(6)) {
    line(os, "grid", left, y(tick), right, y(tick));
    label(os, left - 6, y(tick) + 4, formatv("{0} ×", llvm::format("%g", tick)).str(),
          "class=\"soft\" text-anchor=\"end\"");
  }
  for (double tick : x.ticks(8))
    if (tick == std::floor(tick))
      label(os, x(tick), bottom + 17, formatv("{0:f0}", tick).str(),
            "class=\"soft\" text-anchor=\"middle\"");
  line(os, "grid", left, strip + 2, right, strip + 2);
  label(os, left - 6, bottom - 6, "no time", "class=\"soft\" text-anchor=\"end\"");
  writeAxes(os, "judged candidates", "speed-up over the original");

  double best = 1;
  os << formatv("<path class=\"best\" d=\"M{0:f1},{1:f1}", x(0), y(1));
  for (size_t i = 0; i != page.attempts.size(); ++i)
    if (double now = speedup(page.attempts[i].us); page.attempts[i].us > 0 && now > best) {
      best = now;
      os << formatv(" H{0:f1} V{1:f1}", x(places[i]), y(best));
    }
  os << formatv(" H{0:f1}\" />\n", x(x.to));
  for (size_t i = 0; i != page.attempts.size(); ++i) {
    const ReportAttempt &attempt = page.attempts[i];
    double at = attempt.us > 0 ? y(speedup(attempt.us)) : strip + 12;
    os << formatv("<a href=\"#{0}\"><title>{1}</title>{2}</a>\n", rowId(i), attemptTitle(page, i),
                  markShape(outcomeClass(attempt), x(places[i]), at));
  }
  if (page.found)
    os << formatv("<g><title>{0}: {1}</title><circle class=\"ring\" cx=\"{2:f1}\" cy=\"{3:f1}\" "
                  "r=\"8\" /></g>\n",
                  page.confirmed ? "the final check" : "the best so far",
                  factor(speedup(page.bestUs)), x(x.to), y(speedup(page.bestUs)));
  os << "</svg></div>\n";
  writeLegend(os, page);
  os << "</section>\n";
  return true;
}

//===-- Roofline ----------------------------------------------------------===//

namespace {

double metric(const KernelPage &kernel, StringRef name) {
  auto found = kernel.metrics.find(name.str());
  return found == kernel.metrics.end() || !std::isfinite(found->second) ? 0 : found->second;
}

/// Work per launch: floating-point operations, or warp instructions.
double workOf(const KernelPage &kernel, bool flops) {
  if (!flops)
    return metric(kernel, "smsp__inst_executed.sum");
  double sum = 0;
  for (StringRef type : {"f", "d", "h"})
    for (auto [operation, factor] : {std::pair("add", 1), std::pair("mul", 1), std::pair("fma", 2)})
      sum +=
          factor * metric(kernel, formatv("smsp__sass_thread_inst_executed_op_{0}{1}_pred_on.sum",
                                          type, operation)
                                      .str());
  // What tensor cores do is not among these.
  return metric(kernel, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active") > 0 ? 0
                                                                                              : sum;
}

double bytesOf(const KernelPage &kernel) {
  return metric(kernel, "dram__bytes_read.sum") + metric(kernel, "dram__bytes_write.sum");
}

struct Point {
  size_t kernel = 0; ///< number in the list below
  bool after = false;
  double intensity = 0, rate = 0;
};

std::optional<Point> pointOf(const KernelPage &kernel, bool flops) {
  double work = workOf(kernel, flops), bytes = bytesOf(kernel),
         ns = metric(kernel, "gpu__time_duration.sum");
  if (work <= 0 || bytes <= 0 || ns <= 0)
    return std::nullopt;
  return Point{0, false, work / bytes, work / ns * 1e9};
}

struct Roofline {
  bool flops = true;
  std::vector<ReportCeiling> roofs;
  std::vector<Point> points;
  std::vector<std::string> kernels; ///< names by number
};

/// Kernels of both programs; the same name is the same kernel.
std::vector<Point> pointsOf(const ReportPage &page, bool flops, std::vector<std::string> &names) {
  std::vector<Point> points;
  auto add = [&](const KernelPage &kernel, bool after) {
    auto point = pointOf(kernel, flops);
    if (!point)
      return;
    auto known = llvm::find(names, kernel.kernel);
    point->kernel = static_cast<size_t>(known - names.begin());
    point->after = after;
    if (known == names.end())
      names.push_back(kernel.kernel);
    points.push_back(*point);
  };
  for (const KernelPage &kernel : page.kernelsBefore)
    add(kernel, false);
  for (const KernelPage &kernel : page.kernelsAfter)
    add(kernel, true);
  return points;
}

Roofline rooflineOf(const ReportPage &page) {
  Roofline roofline;
  auto has = [&](llvm::ArrayRef<KernelPage> kernels, bool flops) {
    return !llvm::any_of(kernels,
                         [&](const KernelPage &kernel) { return !pointOf(kernel, flops); });
  };
  roofline.flops =
      !page.ceilings.flops.empty() && has(page.kernelsBefore, true) && has(page.kernelsAfter, true);
  if (roofline.flops)
    roofline.roofs = page.ceilings.flops;
  else if (page.ceilings.warpInstructions.perSecond > 0)
    roofline.roofs = {page.ceilings.warpInstructions};
  llvm::sort(roofline.roofs,
             [](const auto &a, const auto &b) { return a.perSecond > b.perSecond; });
  roofline.points = pointsOf(page, roofline.flops, roofline.kernels);
  return roofline;
}

void writePoints(llvm::raw_ostream &os, const Roofline &roofline, const Scale &x, const Scale &y,
                 double slowest, double roof) {
  for (const Point &to : roofline.points)
    for (const Point &from : roofline.points)
      if (to.after && !from.after && from.kernel == to.kernel)
        line(os, "way", x(from.intensity), y(from.rate), x(to.intensity), y(to.rate));
  for (const Point &point : roofline.points) {
    double allowed = std::min(slowest * point.intensity, roof);
    os << formatv(
        "<g><title>{0} {1}: {2}{3} at {4:f2} {5}; the roofline allows {6}{3} there</title>"
        "<circle class=\"point{7}\" cx=\"{8:f1}\" cy=\"{9:f1}\" r=\"6\" />",
        escaped(roofline.kernels[point.kernel]), point.after ? "after" : "before",
        withPrefix(point.rate), roofline.flops ? "FLOP/s" : "instructions/s", point.intensity,
        roofline.flops ? "FLOP per byte" : "warp instructions per byte", withPrefix(allowed),
        point.after ? " after" : "", x(point.intensity), y(point.rate));
    label(os, x(point.intensity) + 9, y(point.rate) + (point.after ? -6 : 14),
          std::to_string(point.kernel + 1), "");
    os << "</g>\n";
  }
}

} // namespace

bool report::writeRoofline(llvm::raw_ostream &os, const ReportPage &page, std::string &why) {
  Roofline roofline = rooflineOf(page);
  if (page.ceilings.bytes.empty() || roofline.roofs.empty() || roofline.points.empty()) {
    why = "no kernel has counters for bytes, work and time";
    return false;
  }
  const double roof = roofline.roofs.front().perSecond,
               dram = page.ceilings.bytes.front().perSecond;
  double leastX = roof / dram, mostX = leastX, leastY = roof;
  for (const Point &point : roofline.points) {
    leastX = std::min(leastX, point.intensity);
    mostX = std::max(mostX, point.intensity);
    leastY = std::min(leastY, point.rate);
  }
  Scale x{leastX / 5, mostX * 6, left, right, true}, y{leastY / 5, roof * 2.5, bottom, top, true};

  os << "<section id=\"roofline\">\n<h2>Roofline</h2>\n";
  openChart(os, "roofline before and after");
  for (double tick : x.ticks(0)) {
    line(os, "grid", x(tick), top, x(tick), bottom);
    label(os, x(tick), bottom + 17, formatv("{0}", llvm::format("%g", tick)).str(),
          "class=\"soft\" text-anchor=\"middle\"");
  }
  for (double tick : y.ticks(0)) {
    line(os, "grid", left, y(tick), right, y(tick));
    label(os, left - 6, y(tick) + 4, withPrefix(tick), "class=\"soft\" text-anchor=\"end\"");
  }
  writeAxes(os,
            roofline.flops ? "FLOP per byte of DRAM traffic"
                           : "warp instructions per byte of DRAM traffic",
            roofline.flops ? "FLOP/s" : "warp instructions/s");
  // Slopes: one decade up for one decade to the right.
  const double turn = std::atan2((bottom - top) / std::log(y.to / y.from),
                                 (right - left) / std::log(x.to / x.from));
  // The lowest has its name below, the others above: they may lie close.
  for (const ReportCeiling &slope : page.ceilings.bytes) {
    double begin = std::max(x.from, y.from / slope.perSecond),
           end = std::min(x.to, roof / slope.perSecond);
    if (begin >= end)
      continue;
    line(os, slope.perSecond == dram ? "ceiling outer" : "ceiling", x(begin),
         y(begin * slope.perSecond), x(end), y(end * slope.perSecond));
    os << formatv("<text class=\"soft\" transform=\"translate({0:f1} {1:f1}) rotate({2:f1})\">{3} "
                  "{4}B/s</text>\n",
                  x(begin) + 12,
                  y(begin * slope.perSecond) - 12 * std::tan(turn) +
                      (slope.perSecond == dram ? 15 : -5),
                  -turn * 180 / M_PI, escaped(slope.name), withPrefix(slope.perSecond));
  }
  for (const ReportCeiling &flat : roofline.roofs) {
    double begin = std::max(x.from, flat.perSecond / page.ceilings.bytes.back().perSecond);
    line(os, flat.perSecond == roof ? "ceiling outer" : "ceiling", x(begin), y(flat.perSecond),
         right, y(flat.perSecond));
    label(os, right - 4, y(flat.perSecond) - 5,
          escaped(flat.name) + " " + withPrefix(flat.perSecond) +
              (roofline.flops ? "FLOP/s" : "inst/s"),
          "class=\"soft\" text-anchor=\"end\"");
  }
  writePoints(os, roofline, x, y, dram, roof);
  os << "</svg></div>\n<p class=\"legend\"><span><svg width=\"14\" height=\"14\" viewBox=\"-7 -7 "
        "14 14\" "
        "aria-hidden=\"true\"><circle class=\"point\" r=\"5\" /></svg> before</span> <span><svg "
        "width=\"14\" "
        "height=\"14\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><circle class=\"point after\" "
        "r=\"5\" /></svg> "
        "after</span>";
  for (size_t i = 0; i != roofline.kernels.size(); ++i)
    os << formatv(" <span>{0}: {1}</span>", i + 1, shortened(roofline.kernels[i], 60));
  os << formatv(
      "</p>\n<p class=\"soft\">Lines are the chip's data sheet; points are {0}.</p>\n</section>\n",
      escaped(page.source));
  return true;
}
