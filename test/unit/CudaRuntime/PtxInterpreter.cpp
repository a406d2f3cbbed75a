#include "PtxInterpreter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>

using namespace kbtest;

namespace {

std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// Operands, with those in braces or brackets as one.
std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (char c : text) {
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
    if (c == ',' && !depth) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty())
    parts.push_back(trimmed(part));
  return parts;
}

std::vector<std::string> inBraces(const std::string &operand) {
  return split(operand.substr(1, operand.size() - 2));
}

double real(uint64_t bits) { return std::bit_cast<double>(bits); }
uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }
float single(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

float fromHalf(uint64_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = bits >> 15 & 1 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(1024 + fraction), exponent - 25)
                          : std::ldexp(float(fraction), -24));
}

} // namespace

PtxKernel::PtxKernel(const std::string &text, const std::string &name) {
  size_t start = text.find(".entry " + name + "(");
  if (start == std::string::npos)
    return;
  start = text.find("\n{", start);
  std::istringstream body(text.substr(start + 2, text.find("\n}", start) - start - 2));
  for (std::string line; std::getline(body, line);) {
    line = trimmed(line.substr(0, line.find("//")));
    if (line.empty() || line[0] == '.')
      continue;
    if (line.back() == ':') {
      labels[line.substr(0, line.size() - 1)] = code.size();
      continue;
    }
    line.pop_back(); // the semicolon
    Instruction instruction;
    if (line[0] == '@') {
      instruction.isNegated = line[1] == '!';
      size_t end = line.find(' ');
      instruction.guard =
          line.substr(instruction.isNegated ? 2 : 1, end - (instruction.isNegated ? 2 : 1));
      line = trimmed(line.substr(end));
    }
    size_t end = line.find(' ');
    instruction.op = line.substr(0, end);
    if (end != std::string::npos)
      instruction.operands = split(line.substr(end));
    code.push_back(instruction);
  }
}

std::string PtxKernel::run(unsigned blocks, unsigned threads,
                           const std::map<std::string, uint64_t> &parameters) const {
  std::string error;
  for (unsigned block = 0; block < blocks; ++block)
    for (unsigned first = 0; first < threads; first += 32) {
      std::vector<Lane> warp(32);
      for (unsigned i = 0; i < 32; ++i) {
        for (const auto &[name, value] : parameters)
          warp[i].registers["[" + name + "]"] = value;
        warp[i].registers["%ctaid.x"] = block;
        warp[i].registers["%ntid.x"] = threads;
        warp[i].registers["%tid.x"] = first + i;
        warp[i].registers["%nctaid.x"] = blocks;
      }
      for (bool goesOn = true; goesOn;) {
        for (Lane &lane : warp)
          if (!runToShuffle(lane, error))
            return error;
        goesOn = !warp[0].isDone;
        for (const Lane &lane : warp)
          if (lane.at != warp[0].at || lane.isDone != warp[0].isDone) {
            // Lanes without sums to write end before the first one.
            if (lane.isDone && warp[0].isDone)
              continue;
            return "lanes do not meet at a shuffle";
          }
        if (!goesOn)
          break;
        const Instruction &shuffle = code[warp[0].at];
        const unsigned distance = static_cast<unsigned>(std::stoul(shuffle.operands[2]));
        std::vector<uint64_t> values;
        for (Lane &lane : warp)
          values.push_back(lane.registers[shuffle.operands[1]]);
        for (unsigned i = 0; i < 32; ++i) {
          warp[i].registers[shuffle.operands[0]] = values[i + distance < 32 ? i + distance : i];
          ++warp[i].at;
        }
      }
    }
  return error;
}

bool PtxKernel::runToShuffle(Lane &lane, std::string &error) const {
  while (!lane.isDone && lane.at < code.size()) {
    const Instruction &instruction = code[lane.at];
    if (instruction.op == "shfl.sync.down.b32")
      return true;
    ++lane.at;
    if (!instruction.guard.empty() &&
        (lane.registers[instruction.guard] != 0) == instruction.isNegated)
      continue;
    if (!perform(instruction, lane, error))
      return false;
  }
  return true;
}

bool PtxKernel::perform(const Instruction &instruction, Lane &lane, std::string &error) const {
  const std::string &op = instruction.op;
  const std::vector<std::string> &words = instruction.operands;
  auto value = [&](size_t i) -> uint64_t {
    const std::string &word = words[i];
    if (word[0] == '%' || word[0] == '[')
      return lane.registers[word];
    if (word.compare(0, 2, "0d") == 0)
      return std::stoull(word.substr(2), nullptr, 16);
    return static_cast<uint64_t>(std::stoll(word));
  };
  auto place = [&](const std::string &operand) {
    const std::string inner = operand.substr(1, operand.size() - 2);
    size_t plus = inner.find('+');
    return reinterpret_cast<char *>(
        lane.registers[inner.substr(0, plus)] +
        (plus == std::string::npos ? 0 : std::stoull(inner.substr(plus + 1))));
  };
  auto set = [&](uint64_t result) { lane.registers[words[0]] = result; };
  auto set32 = [&](uint64_t result) { set(static_cast<uint32_t>(result)); };
  auto number = [&](size_t i) { return real(value(i)); };
  if (op == "ret")
    lane.isDone = true;
  else if (op == "bra")
    lane.at = labels.at(words[0]);
  else if (op == "ld.param.u64" || op == "ld.param.f64" || op == "mov.u64" || op == "mov.f64" ||
           op == "cvt.u64.u32" || op == "mov.u32")
    set(value(1));
  else if (op == "mov.b32" || op == "mov.b64") {
    const unsigned half = op == "mov.b32" ? 16 : 32;
    if (words[0][0] == '{') {
      const auto parts = inBraces(words[0]);
      lane.registers[parts[0]] = value(1) & ((uint64_t(1) << half) - 1);
      lane.registers[parts[1]] = value(1) >> half & ((uint64_t(1) << half) - 1);
    } else if (words[1][0] == '{') {
      const auto parts = inBraces(words[1]);
      set(lane.registers[parts[0]] | lane.registers[parts[1]] << half);
    } else {
      set(value(1));
    }
  } else if (op == "ld.global.v4.u32") {
    const auto parts = inBraces(words[0]);
    for (size_t i = 0; i < 4; ++i) {
      uint32_t word;
      std::memcpy(&word, place(words[1]) + 4 * i, sizeof word);
      lane.registers[parts[i]] = word;
    }
  } else if (op == "mul.wide.u32")
    set(uint64_t(static_cast<uint32_t>(value(1))) * static_cast<uint32_t>(value(2)));
  else if (op == "add.u64")
    set(value(1) + value(2));
  else if (op == "shl.b64")
    set(value(1) << value(2));
  else if (op == "shr.u64")
    set(value(1) >> value(2));
  else if (op == "shl.b32")
    set32(value(1) << value(2));
  else if (op == "and.b32")
    set32(value(1) & value(2));
  else if (op == "or.b32")
    set32(value(1) | value(2));
  else if (op == "xor.b32")
    set32(value(1) ^ value(2));
  else if (op == "bfe.u32")
    set32(value(1) >> value(2) & ((uint64_t(1) << value(3)) - 1));
  else if (op == "setp.ge.u64")
    set(value(1) >= value(2));
  else if (op == "setp.eq.u32")
    set(static_cast<uint32_t>(value(1)) == static_cast<uint32_t>(value(2)));
  else if (op == "setp.ne.u32")
    set(static_cast<uint32_t>(value(1)) != static_cast<uint32_t>(value(2)));
  else if (op == "and.pred")
    set(value(1) && value(2));
  else if (op == "testp.notanumber.f64")
    set(std::isnan(number(1)));
  else if (op == "testp.finite.f64")
    set(std::isfinite(number(1)));
  else if (op == "cvt.f64.f32")
    set(bitsOf(single(value(1))));
  else if (op == "cvt.f32.f16")
    set(std::bit_cast<uint32_t>(fromHalf(value(1))));
  else if (op == "fma.rn.f64")
    set(bitsOf(std::fma(number(1), number(2), number(3))));
  else if (op == "add.rn.f64")
    set(bitsOf(number(1) + number(2)));
  else if (op == "sub.rn.f64")
    set(bitsOf(number(1) - number(2)));
  else if (op == "div.rn.f64")
    set(bitsOf(number(1) / number(2)));
  else if (op == "abs.f64")
    set(bitsOf(std::fabs(number(1))));
  else if (op == "max.f64")
    set(bitsOf(std::fmax(number(1), number(2))));
  else if (op == "red.global.add.u64")
    *reinterpret_cast<uint64_t *>(place(words[0])) += value(1);
  else if (op == "red.global.max.u64") {
    auto *most = reinterpret_cast<uint64_t *>(place(words[0]));
    *most = std::max(*most, value(1));
  } else if (op == "red.global.add.f64")
    *reinterpret_cast<double *>(place(words[0])) += number(1);
  else {
    error = "an instruction that the interpreter does not know: " + op;
    return false;
  }
  return true;
}
