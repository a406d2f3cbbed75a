//===- ProfilePage.cpp - Sections and labels of a profile -----------------===//
//
// Owns the one table from metric names to the labels and units that users know
// from Nsight Compute.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Report/ProfilePage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace kbopt;
namespace json = llvm::json;

namespace {

struct Row {
  llvm::StringLiteral label, unit, metric;
  double factor = 1;
};

struct Section {
  llvm::StringLiteral title;
  std::vector<Row> rows;
};

const std::vector<Section> &sections() {
  static const std::vector<Section> table = {
      {"Speed Of Light",
       {{"Duration", "us", "gpu__time_duration.sum", 1e-3},
        {"DRAM Throughput", "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
        {"Issue Slots Busy", "%", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
        {"FMA Pipe", "%", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
        {"ALU Pipe", "%", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"},
        {"LSU Pipe", "%", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"},
        {"FP64 Pipe", "%", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"},
        {"Tensor Pipe", "%", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"}}},
      {"Launch And Occupancy",
       {{"Waves Per SM", "", "kbopt__waves"},
        {"Registers Per Thread", "", "kbopt__registers"},
        {"Theoretical Occupancy", "%", "kbopt__occupancy", 100},
        {"Achieved Occupancy", "%", "sm__warps_active.avg.pct_of_peak_sustained_active"},
        {"Threads Per Instruction", "",
         "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"}}},
      {"Memory Workload",
       {{"DRAM Read", "KB", "dram__bytes_read.sum", 1e-3},
        {"DRAM Written", "KB", "dram__bytes_write.sum", 1e-3},
        {"L1/TEX Hit Rate", "%", "l1tex__t_sector_hit_rate.pct"},
        {"L2 Hit Rate", "%", "lts__t_sector_hit_rate.pct"},
        {"Global Load Sectors", "", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
        {"Global Load Requests", "", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
        {"Global Load Bytes Used", "%",
         "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"},
        {"Global Store Bytes Used", "%",
         "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"},
        {"Shared Load Bank Conflicts", "", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"},
        {"Shared Store Bank Conflicts", "", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
        {"Local Load Sectors", "", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"}}}};
  return table;
}

constexpr llvm::StringLiteral stallPrefix = "smsp__average_warps_issue_stalled_";
constexpr llvm::StringLiteral stallSuffix = "_per_issue_active.ratio";

/// "Stall Long Scoreboard", as Nsight Compute writes it.
std::string stallLabel(llvm::StringRef name) {
  std::string label = "Stall ";
  bool start = true;
  for (char c : name) {
    label += c == '_' ? ' ' : start ? llvm::toUpper(c) : c;
    start = c == '_';
  }
  return label;
}

std::string shown(double value) {
  if (value != 0 && std::abs(value) < 0.01)
    return llvm::formatv("{0:e2}", value).str();
  return llvm::formatv("{0:f2}", value).str();
}

void writeRow(llvm::raw_ostream &os, llvm::StringRef label, llvm::StringRef unit, double value) {
  os << llvm::formatv("    {0,-32}{1,-6}{2,14}\n", label, unit, shown(value));
}

/// Words of \p text in lines of at most 98 columns, each after \p indent.
void writeWrapped(llvm::raw_ostream &os, llvm::StringRef indent, llvm::StringRef first,
                  llvm::StringRef text) {
  constexpr size_t width = 98;
  std::string line = (indent + first).str();
  const std::string next = (indent + std::string(first.size(), ' ')).str();
  bool empty = true;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    if (!empty && line.size() + 1 + word.size() > width) {
      os << line << "\n";
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + word.str();
    empty = false;
  }
  os << line << "\n";
}

void writeSections(llvm::raw_ostream &os, const KernelPage &kernel) {
  for (const Section &section : sections()) {
    bool titled = false;
    for (const Row &row : section.rows) {
      auto found = kernel.metrics.find(row.metric.str());
      if (found == kernel.metrics.end())
        continue;
      if (!titled)
        os << "  " << section.title << "\n";
      titled = true;
      writeRow(os, row.label, row.unit, found->second * row.factor);
    }
  }
}

/// Warp states, largest first; what is next to nothing is left out.
void writeStalls(llvm::raw_ostream &os, const KernelPage &kernel) {
  std::vector<std::pair<double, std::string>> stalls;
  double sum = 0;
  for (const auto &[name, value] : kernel.metrics) {
    llvm::StringRef rest = name;
    if (!rest.consume_front(stallPrefix) || !rest.consume_back(stallSuffix))
      continue;
    sum += value;
    stalls.emplace_back(value, stallLabel(rest));
  }
  llvm::sort(stalls, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (sum <= 0)
    return;
  os << "  Warp State (cycles per issue)\n";
  for (const auto &[value, label] : stalls)
    if (value >= 0.02 * sum)
      writeRow(os, label, "cycle", value);
}

void writeLines(llvm::raw_ostream &os, const KernelPage &kernel) {
  if (kernel.lines.empty())
    return;
  os << "  Source (share of " << kernel.measure << ")\n";
  for (const HotLine &line : kernel.lines) {
    os << llvm::formatv("    {0,5:f1} %  {1}:{2}: {3}\n", 100 * line.share, line.file, line.line,
                        llvm::StringRef(line.text).take_front(60));
    if (!line.note.empty())
      writeWrapped(os, "             ", "", line.note);
    if (!line.sites.empty())
      writeWrapped(os, "             ", "sites: ", llvm::join(line.sites, ", "));
  }
}

void writeAdvice(llvm::raw_ostream &os, const KernelPage &kernel) {
  if (kernel.advice.empty())
    return;
  os << "  Passes (estimated speedup of this kernel)\n";
  for (const PassAdvice &advice : kernel.advice) {
    os << llvm::formatv("    {0,-24}", advice.pass);
    if (advice.applies)
      os << llvm::formatv("{0:f2} x  {1}\n", advice.speedup, advice.why);
    else
      os << "does not apply: " << advice.reason << "\n";
  }
}

} // namespace

void kbopt::writeProfile(llvm::raw_ostream &os, const ProfilePage &page) {
  os << llvm::formatv("{0}: {1:f2} us in kernels, {2} {3}\n", page.program, page.us, page.source,
                      page.device.empty() ? "for " + page.chip : "on " + page.device);
  for (const std::string &limit : page.limits)
    os << "note: " << limit << "\n";
  for (const KernelPage &kernel : page.kernels) {
    os << llvm::formatv("\n{0}: {1:f1} % of the kernel time, {2:f2} us in {3} launch{4}; {5}\n",
                        kernel.kernel, 100 * kernel.share, kernel.us, kernel.launches,
                        kernel.launches == 1 ? "" : "es", kernel.launch);
    os << "  state: " << kernel.state << "\n";
    if (!kernel.why.empty())
      writeWrapped(os, "    ", "why: ", kernel.why);
    if (!kernel.limiter.empty())
      os << "  limited by: " << kernel.limiter;
    if (kernel.floorUs > 0 && kernel.us > 0)
      os << llvm::formatv("{0}{1:f1} % of the roofline ({2:f2} us)",
                          kernel.limiter.empty() ? "  " : "; ", 100 * kernel.floorUs / kernel.us,
                          kernel.floorUs);
    os << "\n";
    writeSections(os, kernel);
    writeStalls(os, kernel);
    writeLines(os, kernel);
    writeAdvice(os, kernel);
  }
}

static json::Value toJSON(const KernelPage &kernel) {
  json::Object metrics;
  for (const auto &[name, value] : kernel.metrics)
    metrics[name] = value;
  json::Array lines, advice;
  for (const HotLine &line : kernel.lines)
    lines.push_back(json::Object{{"file", line.file}, {"line", line.line}, {"share", line.share},
                                 {"note", line.note}, {"sites", json::Array(line.sites)}});
  for (const PassAdvice &a : kernel.advice)
    advice.push_back(json::Object{{"pass", a.pass}, {"applies", a.applies}, {"reason", a.reason},
                                  {"speedup", a.speedup}, {"why", a.why}});
  return json::Object{{"kernel", kernel.kernel},   {"launch", kernel.launch},
                      {"launches", kernel.launches}, {"us", kernel.us},
                      {"share", kernel.share},     {"floorUs", kernel.floorUs},
                      {"limiter", kernel.limiter}, {"state", kernel.state},
                      {"why", kernel.why},         {"metrics", std::move(metrics)},
                      {"measure", kernel.measure}, {"lines", std::move(lines)},
                      {"advice", std::move(advice)}};
}

json::Value kbopt::toJSON(const ProfilePage &page) {
  json::Array kernels;
  for (const KernelPage &kernel : page.kernels)
    kernels.push_back(::toJSON(kernel));
  return json::Object{{"version", 1},           {"program", page.program},
                      {"chip", page.chip},      {"source", page.source},
                      {"device", page.device},
                      {"limits", json::Array(page.limits)}, {"us", page.us},
                      {"kernels", std::move(kernels)}};
}
