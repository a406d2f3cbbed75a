//===- Schedule.cpp - Schedules as attributes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Schedule/Sketch.h"

using namespace kbopt;

Sketch::~Sketch() = default;

Schedule::Schedule(mlir::DictionaryAttr attribute) {
  for (mlir::NamedAttribute each :
       attribute ? attribute.getValue() : llvm::ArrayRef<mlir::NamedAttribute>()) {
    if (auto text = mlir::dyn_cast<mlir::StringAttr>(each.getValue()))
      set(each.getName(), text.getValue());
    else if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(each.getValue()))
      set(each.getName(), number.getInt());
  }
}

int64_t Schedule::integer(llvm::StringRef key, int64_t otherwise) const {
  auto found = values.find(key.str());
  int64_t value = 0;
  return found == values.end() || llvm::StringRef(found->second).getAsInteger(10, value) ? otherwise
                                                                                         : value;
}

llvm::StringRef Schedule::string(llvm::StringRef key) const {
  auto found = values.find(key.str());
  return found == values.end() ? llvm::StringRef() : llvm::StringRef(found->second);
}

Schedule &Schedule::set(llvm::StringRef key, int64_t value) {
  return set(key, std::to_string(value));
}

Schedule &Schedule::set(llvm::StringRef key, llvm::StringRef value) {
  values[key.str()] = value.str();
  return *this;
}

mlir::DictionaryAttr Schedule::attribute(mlir::MLIRContext *context) const {
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::NamedAttribute> entries;
  for (const auto &[key, text] : values) {
    int64_t number = 0;
    mlir::Attribute value = llvm::StringRef(text).getAsInteger(10, number)
                                ? mlir::Attribute(builder.getStringAttr(text))
                                : mlir::Attribute(builder.getI64IntegerAttr(number));
    entries.push_back(builder.getNamedAttr(key, value));
  }
  return builder.getDictionaryAttr(entries);
}
