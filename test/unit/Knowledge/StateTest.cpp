//===- StateTest.cpp - The built-in rules on made-up profiles -------------===//
#include "kb-opt/Knowledge/State.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

const std::string stall = "smsp__average_warps_issue_stalled_";
const std::string perIssue = "_per_issue_active.ratio";

/// A kernel that nothing is wrong with, every counter known.
MetricMap quiet() {
  MetricMap m;
  m["gpu__time_duration.sum"] = 100000;
  m["kbopt__floor_us"] = 90;
  m["kbopt__waves"] = 8;
  m["kbopt__block_starts_us"] = 0;
  m["kbopt__occupancy"] = 0.9;
  m["kbopt__limited_by_registers"] = 0;
  m["kbopt__limited_by_shared"] = 0;
  m["kbopt__ideal_sectors_per_request"] = 4;
  m["sm__cycles_active.avg"] = 95;
  m["sm__cycles_active.max"] = 100;
  m["dram__throughput.avg.pct_of_peak_sustained_elapsed"] = 50;
  m["smsp__issue_active.avg.pct_of_peak_sustained_active"] = 40;
  m["l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"] = 20;
  for (std::string pipe : {"alu", "fma", "fp64", "xu", "lsu"})
    m["sm__inst_executed_pipe_" + pipe + ".avg.pct_of_peak_sustained_active"] = 20;
  m["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"] = 20;
  m["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"] = 0;
  for (std::string op : {"ld", "st"}) {
    m["l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum"] = 4000;
    m["l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum"] = 1000;
    m["l1tex__t_sectors_pipe_lsu_mem_local_op_" + op + ".sum"] = 0;
    m["smsp__sass_average_data_bytes_per_sector_mem_global_op_" + op + ".pct"] = 100;
    m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op + ".sum"] = 0;
    m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op + ".sum"] = 0;
  }
  m["lts__t_bytes.sum"] = 32 * 8000;
  m["lts__t_sectors_op_atom.sum"] = 0;
  m["lts__t_sectors_op_red.sum"] = 0;
  m["smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"] = 32;
  for (std::string reason :
       {"barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
        "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
        "not_selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"})
    m[stall + reason + perIssue] = 1;
  return m;
}

State classify(const MetricMap &metrics) { return StateRules::builtin().classify(metrics); }

} // namespace

TEST(State, AQuietKernelIsBalanced) {
  State state = classify(quiet());
  EXPECT_EQ(state.primary, "balanced");
  EXPECT_EQ(state.secondary, "");
  EXPECT_FALSE(state.degraded);
  EXPECT_EQ(state.missing, std::vector<std::string>{});
  EXPECT_NEAR(state.headroom, 100.0 / 90, 1e-12);
  EXPECT_NEAR(state.active, 0.4, 1e-12);
}

// Local memory is called spilled registers only where ptxas reports spills.
TEST(State, SpillsAreReported) {
  MetricMap metrics = quiet();
  metrics["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"] = 500;
  const State local = classify(metrics);
  EXPECT_EQ(local.primary, "low_occupancy_register_pressure");
  EXPECT_EQ(local.why().find("spill"), std::string::npos) << local.why();
  metrics["kbopt__spilled_bytes"] = 64;
  EXPECT_NE(classify(metrics).why().find("registers spill"), std::string::npos);
}

// One counter moves, one state follows.
TEST(State, EachRule) {
  struct Row {
    const char *state;
    std::map<std::string, double> change;
  };
  const std::string local = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                    sectors = "smsp__sass_average_data_bytes_per_sector_mem_global_op_",
                    dram = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
  for (const Row &row : std::vector<Row>{
           {"insufficient_parallelism", {{"kbopt__waves", 0.4}}},
           {"insufficient_parallelism", {{"sm__cycles_active.avg", 60}}},
           {"low_occupancy_register_pressure", {{local, 500}}},
           {"memory_bandwidth_saturated", {{dram, 80}}},
           {"uncoalesced_access",
            {{dram, 80}, {sectors + "ld.pct", 12.5}, {sectors + "st.pct", 12.5}}},
           {"uncoalesced_access",
            {{dram, 80}, {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 32000}}},
           {"compute_throughput_saturated",
            {{"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", 85}}},
           {"compute_throughput_saturated",
            {{"smsp__issue_active.avg.pct_of_peak_sustained_active", 85}}},
           {"instruction_mix_suboptimal",
            {{"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", 85}}},
           {"shared_bank_conflicts",
            {{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 1000},
             {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", 700}}},
           {"synchronization_bound",
            {{"lts__t_sectors_op_red.sum", 4000}, {stall + "lg_throttle" + perIssue, 6}}},
           {"memory_latency_bound", {{stall + "long_scoreboard" + perIssue, 12}}},
           {"synchronization_bound", {{stall + "barrier" + perIssue, 12}}},
           {"memory_latency_bound", {{stall + "mio_throttle" + perIssue, 12}}},
           {"instruction_mix_suboptimal", {{stall + "wait" + perIssue, 12}}},
           {"thread_divergence_high", {{stall + "branch_resolving" + perIssue, 12}}},
           {"thread_divergence_high",
            {{"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", 9}}},
           {"launch_overhead_dominant", {{"gpu__time_duration.sum", 3000}}},
           {"launch_overhead_dominant", {{"kbopt__block_starts_us", 80}}},
       }) {
    MetricMap metrics = quiet();
    for (const auto &[name, value] : row.change)
      metrics[name] = value;
    State state = classify(metrics);
    EXPECT_EQ(state.primary, row.state) << row.change.begin()->first << ": " << state.why();
    EXPECT_NE(state.why(), "");
    EXPECT_EQ(state.why().find("unknown"), std::string::npos) << state.why();
  }
}

TEST(State, PrimaryAndSecondaryFollowTheOrderOfTheRules) {
  MetricMap metrics = quiet();
  metrics["dram__throughput.avg.pct_of_peak_sustained_elapsed"] = 90;
  metrics["smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"] = 12.5;
  metrics["smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"] = 37.5;
  State state = classify(metrics);
  EXPECT_EQ(state.primary, "uncoalesced_access");
  EXPECT_EQ(state.secondary, "memory_bandwidth_saturated");
  ASSERT_NE(state.share("uncoalesced_access"), nullptr);
  EXPECT_NEAR(state.share("uncoalesced_access")->blame, 0.75, 1e-12);
  EXPECT_EQ(state.why(),
            "25.00 % of the bytes of each 32-byte sector are used, 4.00 sectors per request; "
            "DRAM is busy 90.00 % of the time");
}

TEST(State, ARuleThatBlamesNextToNothingStandsBehind) {
  MetricMap metrics = quiet();
  metrics["kbopt__waves"] = 0.95; // almost all of the chip is at work
  EXPECT_EQ(classify(metrics).primary, "insufficient_parallelism");
  metrics["dram__throughput.avg.pct_of_peak_sustained_elapsed"] = 90;
  EXPECT_EQ(classify(metrics).primary, "memory_bandwidth_saturated");
  EXPECT_EQ(classify(metrics).secondary, "insufficient_parallelism");
  metrics["kbopt__waves"] = 0.5;
  EXPECT_EQ(classify(metrics).primary, "insufficient_parallelism");
}

TEST(State, NothingKnownIsUnknownAndSaysWhatIsMissing) {
  State state = classify({});
  EXPECT_EQ(state.primary, "unknown");
  EXPECT_TRUE(state.shares.empty());
  EXPECT_TRUE(std::isnan(state.headroom));
  EXPECT_NE(llvm::StringRef(state.why()).find("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
            llvm::StringRef::npos);
}

TEST(State, AMissingCounterLeavesOnlyItsRulesUndecided) {
  MetricMap metrics = quiet();
  metrics.erase("dram__throughput.avg.pct_of_peak_sustained_elapsed");
  // The stall alone would say latency bound; without DRAM that is a guess.
  metrics[stall + "long_scoreboard" + perIssue] = 12;
  State state = classify(metrics);
  EXPECT_EQ(state.primary, "unknown");
  EXPECT_EQ(state.missing,
            std::vector<std::string>{"dram__throughput.avg.pct_of_peak_sustained_elapsed"});
  // What is known still counts, and says that something came before it.
  metrics["sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"] = 90;
  state = classify(metrics);
  EXPECT_EQ(state.primary, "compute_throughput_saturated");
  EXPECT_TRUE(state.degraded);
}

// Nothing to divide by is no missing counter.
TEST(State, AKernelWithoutMemoryTrafficIsDecided) {
  MetricMap metrics = quiet();
  for (auto &[name, value] : metrics)
    if (name.find("_mem_global_") != std::string::npos ||
        name.find("stalled_") != std::string::npos)
      value = 0;
  metrics["lts__t_bytes.sum"] = 0;
  metrics.erase("kbopt__ideal_sectors_per_request");
  EXPECT_EQ(classify(metrics).primary, "balanced") << classify(metrics).why();
  metrics["sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"] = 90;
  EXPECT_EQ(classify(metrics).primary, "compute_throughput_saturated");
  EXPECT_FALSE(classify(metrics).degraded);
}

TEST(State, NotANumberCountsAsMissing) {
  MetricMap metrics = quiet();
  metrics["kbopt__waves"] = NAN;
  EXPECT_EQ(classify(metrics).primary, "unknown");
  EXPECT_EQ(classify(metrics).missing, std::vector<std::string>{"kbopt__waves"});
}

TEST(State, GainInGpasManner) {
  State state;
  state.active = 0.25;
  StateShare work{"w", 0.5, false, ""}, latency{"l", 0.8, true, ""};
  EXPECT_NEAR(predictedLogGain(state, work, 1), std::log(2), 1e-12);
  EXPECT_NEAR(predictedLogGain(state, work, 0.5), std::log(1 / 0.75), 1e-12);
  EXPECT_NEAR(predictedLogGain(state, latency, 1), std::log(1 / 0.75), 1e-12); // min(A, B) = A
  state.active = 0.9;
  EXPECT_NEAR(predictedLogGain(state, latency, 1), std::log(2), 1e-12); // never more than twice
  state.headroom = 1.1;
  EXPECT_NEAR(predictedLogGain(state, work, 1), std::log(1.1), 1e-12);
  EXPECT_TRUE(std::isnan(predictedLogGain(state, {"u", NAN, false, ""}, 1)));
}

TEST(State, CodesAndNames) {
  const StateRules &rules = StateRules::builtin();
  EXPECT_EQ(rules.names().size(), 15u);
  EXPECT_EQ(rules.codeOf("uncoalesced_access"), "UNC");
  EXPECT_EQ(rules.nameOf("UNC"), "uncoalesced_access");
  EXPECT_EQ(rules.nameOf("nonsense"), "nonsense");
}

TEST(State, ErrorsInRulesNameFileAndPlace) {
  auto error = [](llvm::StringRef json) {
    llvm::Expected<StateRules> rules = StateRules::parse(json, "r.json");
    return rules ? "none" : llvm::toString(rules.takeError());
  };
  EXPECT_EQ(error("{}"), "state rules 'r.json': field 'version' must be 1");
  EXPECT_EQ(error(R"({"version":1,"states":[{"name":"a"}]})"),
            "state rules 'r.json': field 'states[0].code' is missing or no string");
  std::string head = R"({"version":1,"states":[{"name":"a","code":"A"}],"derived":[],"rules":[)";
  auto rule = [&](llvm::StringRef state, llvm::StringRef kind, llvm::StringRef when) {
    return head + ("{\"state\":\"" + state + "\",\"kind\":\"" + kind + "\",\"when\":\"" + when +
                   "\",\"blame\":\"1\",\"why\":\"\"}]}")
                      .str();
  };
  EXPECT_EQ(error(rule("a", "elimination", "x > 1")), "none");
  EXPECT_EQ(error(rule("b", "elimination", "x > 1")),
            "state rules 'r.json': rules[0]: unknown state 'b'");
  EXPECT_EQ(error(rule("a", "magic", "x > 1")),
            "state rules 'r.json': rules[0]: kind must be 'elimination' or 'hiding'");
  EXPECT_EQ(error(rule("a", "hiding", "x >")),
            "state rules 'r.json': rules[0]: expression 'x >', column 4: "
            "expected a number or a name");
}
