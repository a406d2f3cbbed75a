//===- PtxCensus.cpp - Reading PTX ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reader behind gates G2 and G3; what they make of it is in PtxGates.cpp.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/PtxCensus.h"
#include "PtxTables.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

std::string withoutModuleHash(StringRef name) {
  // nvcc: _INTERNAL_<8 hex>_<length>_<file>_<ext>_<8 hex>_<digits>…, and __nv_static_<n>__<hash>….
  std::string result;
  while (!name.empty()) {
    size_t at = name.find("_INTERNAL_");
    if (at == StringRef::npos) {
      result += name;
      break;
    }
    result += name.take_front(at);
    result += "_INTERNAL_";
    name = name.drop_front(at + 10);
    for (int fields = 0; fields < 2; ++fields) {
      size_t digits = name.find_if_not([](char c) { return isHexDigit(c); });
      if (digits == 8 && name.size() > 8)
        name = name.drop_front(8).ltrim('_');
      // Skip the file's name up to the second hash.
      size_t next = 0;
      while (fields == 0 && next + 9 < name.size() &&
             !(name[next] == '_' && name[next + 9] == '_' &&
               all_of(name.substr(next + 1, 8), [](char c) { return isHexDigit(c); })))
        ++next;
      if (fields == 0 && next + 9 < name.size())
        name = name.drop_front(next + 1);
      else if (fields == 0)
        break;
    }
  }
  return result;
}

bool isExactMatrixProduct(StringRef opcode) {
  auto endsWith = [&](StringRef after) {
    return opcode.ends_with((".f32.f16.f16" + after).str()) ||
           opcode.ends_with((".f32.bf16.bf16" + after).str());
  };
  return opcode.starts_with("mma.sync.") ? endsWith(".f32")
                                         : opcode.starts_with("wgmma.mma_async.") && endsWith("");
}

/// The sums that one \p opcode forms in a thread: those of a wgmma would take as many operations of
/// mma.sync, or of the arithmetic units.
static unsigned sumsOf(StringRef opcode) {
  unsigned columns = 0;
  StringRef shape = opcode.split(".m64n").second;
  return opcode.starts_with("wgmma.") && !shape.consumeInteger(10, columns) ? columns / 2 : 1;
}

namespace {

std::string withoutComments(StringRef text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i).starts_with("/*")) {
      size_t end = text.find("*/", i + 2);
      i = end == StringRef::npos ? text.size() : end + 2;
      result += ' ';
    } else if (text[i] == '"') {
      size_t end = text.find('"', i + 1);
      i = end == StringRef::npos ? text.size() : end + 1;
      result += "\"\"";
    } else {
      result += text[i++];
    }
  }
  return result;
}

/// Name after `.entry` or `.func`, past a return parameter list.
StringRef functionName(StringRef header) {
  header = header.ltrim();
  if (header.starts_with("(")) {
    size_t close = header.find(')');
    header = close == StringRef::npos ? "" : header.drop_front(close + 1).ltrim();
  }
  return header.take_while([](char c) { return isAlnum(c) || c == '_' || c == '$' || c == '.'; });
}

bool isLiteralName(StringRef name) {
  return name.starts_with("$str") || name.starts_with("__unnamed") || name.starts_with("_$_str") ||
         name.starts_with(".str") || name.starts_with("$L__") || name.starts_with("__func__") ||
         name.contains("__PRETTY_FUNCTION__") || name.starts_with("_$_");
}

struct Reader {
  StringRef module; ///< without comments
  PtxCensus census;
  PtxFunction *function = nullptr;
  std::string functionName;
  std::map<std::string, uint64_t> globals;                     ///< module variables, with bytes
  std::map<std::string, uint64_t> numbers;                     ///< those of one number
  std::map<std::string, std::vector<PtxStatement>> statements; ///< by function
  /// Registers of the open function that were loaded in a way that sees other
  /// threads' writes, and labels seen, for spins.
  std::set<std::string> watched;
  std::set<std::string> predicates;
  std::map<std::string, bool> labels; ///< label → a watched load since it

  void beginFunction(StringRef name, bool isKernel) {
    functionName = name.str();
    function = &census.functions[withoutModuleHash(name)];
    function->isKernel = isKernel;
    watched.clear();
    predicates.clear();
    labels.clear();
  }

  void global(StringRef declaration) {
    // .global .align 4 .u32 counter; or …counter[4] = {…}
    auto [variable, value] = declaration.split('=');
    variable = variable.split('[').first.rtrim();
    StringRef name = variable.substr(variable.find_last_of(" \t") + 1);
    // What `constexpr int tile = 16;` leaves behind, all uses folded, is no state.
    // Nor is what headers declare and the program does not use, as `std::piecewise_construct`.
    census.declared.insert(withoutModuleHash(name));
    bool unused = !variable.contains(".visible") && mentions(name) == 1;
    if (!name.empty() && !isLiteralName(name) && !unused)
      globals[name.str()] = sizeOf(declaration);
    if (uint64_t bytes = numberBytes(declaration))
      numbers[name.str()] = bytes;
  }

  /// Bytes of a declaration of one number (".global .align 4 .u32 counter;"); 0 for others.
  static uint64_t numberBytes(StringRef declaration) {
    if (declaration.split('=').first.contains('['))
      return 0;
    for (unsigned bits : {8, 16, 32, 64})
      for (StringRef kind : {".b", ".u", ".s", ".f"})
        if (declaration.contains((kind + Twine(bits) + " ").str()))
          return bits / 8;
    return 0;
  }

  /// Bytes of a declaration of bytes ("…counter[16]"), or as many as a scalar has at most.
  static uint64_t sizeOf(StringRef declaration) {
    constexpr uint64_t widestScalar = 8;
    uint64_t count = 1;
    StringRef number = declaration.split('=').first.split('[').second.split(']').first;
    if (!number.empty() && number.getAsInteger(10, count))
      return std::numeric_limits<uint64_t>::max();
    return declaration.contains(".b8 ") ? count : count * widestScalar;
  }

  /// Small tables that no instruction writes are constants, in the memory where nvcc puts
  /// `__device__ const`.
  void dropTables() {
    constexpr uint64_t mostTableBytes = 4096;
    for (const auto &[name, bytes] : globals)
      if (bytes > mostTableBytes || mentions(name) != 1 + mentionsInCode(name) ||
          !isOnlyRead(name, statements))
        noteGlobal(name);
  }

  void noteGlobal(StringRef name) {
    const std::string known = withoutModuleHash(name);
    census.globals.insert(known);
    // What the module's hash is part of has another name elsewhere.
    if (auto number = numbers.find(name.str()); number != numbers.end() && known == name)
      census.numbers.insert(*number);
  }

  /// How often the module has \p name as a word.
  unsigned mentions(StringRef name) const {
    auto isWord = [](char c) { return isAlnum(c) || c == '_' || c == '$' || c == '.'; };
    unsigned count = 0;
    for (size_t at = module.find(name); at != StringRef::npos; at = module.find(name, at + 1)) {
      size_t end = at + name.size();
      count +=
          (at == 0 || !isWord(module[at - 1])) && (end == module.size() || !isWord(module[end]));
    }
    return count;
  }

  /// The same in instructions. Others are initial values of variables, which hold its address.
  unsigned mentionsInCode(StringRef name) const {
    unsigned count = 0;
    for (const auto &[function, list] : statements)
      for (const PtxStatement &statement : list) {
        SmallVector<StringRef, 8> words;
        SplitString(statement.operands, words, " \t\n,;[]{}()|!+");
        count += llvm::count(words, name);
      }
    return count;
  }

  void precision(StringRef opcode, StringRef base, const SmallVectorImpl<StringRef> &parts);
  void deny(StringRef opcode, StringRef base, StringRef operands, bool backward);
  void instruction(StringRef text);
  void label(StringRef name) { labels.emplace(name.str(), false); }
};

void Reader::precision(StringRef opcode, StringRef base, const SmallVectorImpl<StringRef> &parts) {
  auto has = [&](StringRef part) { return is_contained(parts, part); };
  static const char *const arithmetic[] = {"add", "sub",   "mul", "fma",    "mad",  "div", "sqrt",
                                           "rcp", "rsqrt", "ex2", "lg2",    "sin",  "cos", "tanh",
                                           "cvt", "wmma",  "mma", "wgmma",  "atom", "red", "min",
                                           "max", "neg",   "abs", "tcgen05"};
  if (!is_contained(arithmetic, base))
    return;
  bool narrow = false;
  auto count = [&](StringRef kind, bool isNarrow) {
    function->precision[kind.str()] += sumsOf(opcode);
    narrow |= isNarrow;
  };
  // A conversion counts by what it makes, its first type: reading a half is no
  // computation in half.
  if (base == "cvt") {
    static const char *const types[] = {"f64",  "f32",    "f16",    "f16x2", "bf16", "bf16x2",
                                        "tf32", "e4m3x2", "e5m2x2", "s8",    "u8",   "s16",
                                        "u16",  "s32",    "u32",    "s64",   "u64"};
    for (StringRef part : parts) {
      if (!is_contained(types, part))
        continue;
      if (part.starts_with("f16"))
        count("half", true);
      else if (part.starts_with("bf16"))
        count("bf16", true);
      else if (part == "tf32")
        count("tf32", true);
      else if (part.starts_with("e4m3") || part.starts_with("e5m2"))
        count("fp8", true);
      break;
    }
    function->widensHalf |= opcode == "cvt.f32.f16";
  } else if (isExactMatrixProduct(opcode)) {
    count("float", true);
  } else {
    if (has("f16") || has("f16x2"))
      count("half", true);
    if (has("bf16") || has("bf16x2"))
      count("bf16", true);
    if (has("tf32"))
      count("tf32", true);
    if (has("e4m3") || has("e5m2"))
      count("fp8", true);
    if (has("f32") && !narrow)
      count("float", false);
    if (has("f64"))
      count("double", false);
  }
  if (has("approx") || (base == "div" && has("full")))
    count("approx", true);
  else if (base == "div" || base == "sqrt" || base == "rcp")
    if (has("f32") || has("f64"))
      ++function->exactDivisions;
  if (narrow || has("approx") || (base == "div" && has("full")))
    ++function->narrowOpcodes[opcode.str()];
}

void Reader::deny(StringRef opcode, StringRef base, StringRef operands, bool backward) {
  auto count = [&](const char *name) { ++function->denied[name]; };
  if (operands.contains("%clock") || operands.contains("%globaltimer"))
    count("clock");
  // A number per launch, and counters of the chip: they tell iterations apart. Registers 1 and 2 of
  // the environment lead to the barrier of a whole grid, which cooperative groups read.
  const bool isGridBarrier = operands.ends_with("%envreg1") || operands.ends_with("%envreg2");
  if (operands.contains("%gridid") || operands.contains("%pm") ||
      (operands.contains("%envreg") && !isGridBarrier))
    count("launch-number");
  // Where a block runs is the chip's to choose: two blocks have one number, or no two have.
  if (operands.contains("%smid") || operands.contains("%nsmid") || operands.contains("%warpid") ||
      operands.contains("%nwarpid"))
    count("chip-place");
  if (base == "createpolicy" || base == "applypriority" || base == "discard" ||
      opcode.contains("evict_last") || opcode.contains("cache_hint"))
    count("cache-policy");
  if (base == "griddepcontrol" || base == "nanosleep")
    ++function->denied[base.str()];
  if (base == "call") {
    if (operands.contains("vprintf"))
      count("printf");
    if (operands.contains("cudaLaunchDevice") || operands.contains("cudaGetParameterBuffer") ||
        operands.contains("cudaDeviceSynchronize"))
      count("device-launch");
    SmallVector<StringRef, 8> words;
    SplitString(operands, words, " \t\n,();");
    if (is_contained(words, "malloc") || is_contained(words, "free"))
      count("device-heap");
  }
  if (backward)
    count("spin");
}

void Reader::instruction(StringRef text) {
  StringRef predicate;
  if (text.starts_with("@")) {
    auto [guard, rest] = text.split(text.find(' ') == StringRef::npos ? '\t' : ' ');
    predicate = guard.drop_front().ltrim('!');
    text = rest.ltrim();
  }
  size_t end = text.find_first_of(" \t\n");
  StringRef opcode = text.take_front(end),
            operands = end == StringRef::npos ? "" : text.substr(end);
  if (opcode.empty() || opcode.starts_with("."))
    return;
  ++function->instructions;
  statements[functionName].push_back({opcode.str(), operands.str()});
  SmallVector<StringRef, 8> parts;
  opcode.split(parts, '.');
  StringRef base = parts[0];
  auto has = [&](StringRef part) { return is_contained(parts, part); };

  SmallVector<StringRef, 8> words;
  SplitString(operands, words, " \t\n,;[]{}()|!+");
  // A loop is a spin if it goes on by a value that another thread must change.
  bool seesOthers =
      (base == "ld" && (has("volatile") || has("acquire") || has("relaxed") || has("cv"))) ||
      (base == "atom");
  if (!words.empty()) {
    bool readsWatched = false, readsPredicate = false;
    for (StringRef word : ArrayRef(words).drop_front()) {
      readsWatched |= watched.count(word.str());
      readsPredicate |= predicates.count(word.str());
    }
    if (seesOthers)
      watched.insert(words[0].str());
    else if (base == "setp" && readsWatched)
      predicates.insert(words[0].str());
    else if (base == "setp")
      predicates.erase(words[0].str());
    else if ((base == "mov" || base == "cvt" || base == "and" || base == "selp") &&
             (readsWatched || readsPredicate))
      watched.insert(words[0].str());
    else if (words[0].starts_with("%"))
      watched.erase(words[0].str());
  }
  if (seesOthers)
    for (auto &entry : labels)
      entry.second = true;
  bool spin = false;
  if (base == "bra" && !words.empty()) {
    auto target = labels.find(words.back().str());
    spin = target != labels.end() && target->second && predicates.count(predicate.str());
  }
  // A bf16 is the upper half of a float; since sm_90 there is an instruction for it.
  function->widensBrain |=
      opcode == "cvt.f32.bf16" || (opcode == "mov.b32" && StringRef(operands).contains("{0,"));
  precision(opcode, base, parts);
  deny(opcode, base, operands, spin);
}

} // namespace

PtxCensus takePtxCensus(StringRef ptx) {
  std::string text = withoutComments(ptx);
  Reader reader;
  reader.module = text;
  StringRef rest = text;
  int depth = 0;
  std::string statement;
  bool initialiser = false;
  for (char c : rest) {
    StringRef current = StringRef(statement).trim();
    if (depth == 0) {
      if (c == '{' && !initialiser && current.ends_with("=")) {
        initialiser = true; // braces of a variable's initial value
        statement += c;
        continue;
      }
      if (initialiser && c != ';') {
        statement += c;
        continue;
      }
      if (c == '{') {
        size_t entry = current.find(".entry"), func = current.find(".func");
        if (entry != StringRef::npos)
          reader.beginFunction(functionName(current.substr(entry + 6)), true);
        else if (func != StringRef::npos)
          reader.beginFunction(functionName(current.substr(func + 5)), false);
        else
          reader.function = nullptr; // debug sections
        depth = 1;
        statement.clear();
        continue;
      }
      if (c == ';') {
        initialiser = false;
        size_t global = current.find(".global ");
        if (global != StringRef::npos && !current.contains(".func"))
          reader.global(current);
        statement.clear();
        continue;
      }
      statement += c;
      continue;
    }
    // Inside a body. Braces of vector operands stay in their statement, which
    // already has an opcode; others open and close scopes.
    if (c == '{' && !current.empty()) {
      statement += c;
      ++depth;
      continue;
    }
    if (c == '{') {
      statement.clear();
      ++depth;
      continue;
    }
    if (c == '}') {
      --depth;
      if (!current.empty() && current.contains('{'))
        statement += c;
      else
        statement.clear();
      if (depth == 0) {
        reader.function = nullptr;
        statement.clear();
      }
      continue;
    }
    if (c == ':' && !current.contains(' ') && !current.contains(':') && reader.function &&
        !current.empty() && current.find_first_of("\t.") != 0) {
      // A label, unless this is the first colon of L1::evict_last.
      if (current.starts_with("$") || current.starts_with("_") || isAlpha(current[0]))
        if (!current.contains('.')) {
          reader.label(current);
          statement.clear();
          continue;
        }
    }
    if (c == '\n' && current.starts_with(".loc")) {
      statement.clear();
      continue;
    }
    if (c == ';') {
      if (reader.function && !current.empty())
        reader.instruction(current);
      statement.clear();
      continue;
    }
    statement += c == '\n' ? ' ' : c;
  }
  reader.dropTables();
  return std::move(reader.census);
}

} // namespace kbopt
