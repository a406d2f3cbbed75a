# SPDX-License-Identifier: Apache-2.0

"""Executes the main of a libtorch driver on shapes alone, up to the call of the entry and the comparison that follows it.

Nothing of torch is needed. What the result says: the arguments of the call, which of them is the output, and which sizes shape them.
"""
import math
import re

import cxx
from modules import Module, names_module
from shapes import computed
from torchcalls import DTYPES, called, dtype_of
from values import (HostArray, Int, Iterator, Made, Opaque, Options, Pointer, Tensor, Untranslatable, add, as_int, describe, multiply, negate, quotient, remainder, remember,
                    subtract)

ENTRY = "launch_gpu_implementation"
INTEGERS = re.compile(r"\b(u?int\d*(_t)?|size_t|long|unsigned|short)\b")


class Object:
    """An instance of a class that the driver defines."""

    def __init__(self, definition):
        self.definition, self.fields = definition, {}


class Returned(Exception):
    def __init__(self, value):
        self.value = value


class Driver:
    """overrides: other values for variables of main that are initialized with a whole number; only these names are sizes if `names` is given."""

    def __init__(self, text, entry=ENTRY, overrides=None, names=None):
        self.functions, self.classes, self.globals = cxx.parse(text)
        self.entry, self.overrides, self.names = entry, overrides or {}, names
        self.structural, self.sizes, self.arguments, self.compared = set(), {}, None, []

    def structure(self, *values):
        """These numbers say what is computed (the window of a convolution), not how much of it."""
        for value in values:
            if isinstance(value, list):
                self.structure(*value)
            elif isinstance(value, Int):
                self.structural |= value.names

    def run(self):
        if "main" not in self.functions or self.functions["main"].body is None:
            raise Untranslatable("there is no main")
        scope = {}
        try:
            self.execute(self.globals, scope)
            self.execute(self.functions["main"].body, scope)
        except Returned:
            pass
        if self.arguments is None:
            raise Untranslatable(f"main does not call {self.entry}")
        return self

    # Statements

    def execute(self, statements, scope):
        for statement in statements:
            kind = statement[0]
            if kind == "declare":
                self.declare(statement, scope)
            elif kind == "expression":
                self.value(statement[1], scope)
            elif kind == "block":
                self.execute(statement[1], scope)
            elif kind == "if":
                # After the call only comparisons matter: both sides are looked at, and what fails there is left.
                condition = self.truth(self.value(statement[1], scope))
                self.execute(statement[2] if condition else statement[3], scope)
            elif kind == "class":
                self.classes[statement[1].name] = statement[1]
            elif kind in ("for", "each") and self.arguments is None:
                self.repeat(statement, scope)
            elif kind in ("for", "each"):
                continue  # it compares
            elif kind == "return":
                raise Returned(self.value(statement[1], scope) if statement[1] else None)
            elif self.arguments is None:
                raise Untranslatable(statement[1])

    def repeat(self, statement, scope):
        """A loop before the call. One that goes over elements is not executed."""
        most = 1000
        if statement[0] == "each":
            values = self.value(statement[2], scope)
            if not isinstance(values, list):
                raise Untranslatable("a 'for' loop")
            if len(values) > most:
                raise Untranslatable(f"a 'for' loop of more than {most} rounds")
            for value in values:
                scope[statement[1]] = value
                self.execute(statement[3], scope)
            return
        _, first, condition, step, body = statement
        self.execute(first, scope)
        for _ in range(most):
            if not self.truth(self.value(condition, scope)):
                return
            self.execute(body, scope)
            self.value(step, scope)
        raise Untranslatable(f"a 'for' loop of more than {most} rounds")

    def truth(self, value):
        return bool(value.value) if isinstance(value, Int) else bool(value) and not isinstance(value, Opaque)

    def declare(self, statement, scope):
        _, declared, name, kind, initializers = statement
        bare = re.sub(r"\b(const|constexpr|static)\b|[&*]", "", declared).strip()
        if kind == "" or (kind == "{" and not initializers and "vector" not in bare):
            if "vector" in bare:
                scope[name] = []
            elif bare in self.classes or names_module(bare):
                scope[name] = self.construct(bare, [], scope)
            else:
                scope[name] = Tensor([Int(0)], "f32") if bare.split("::")[-1] == "Tensor" else None
            return
        if kind == "=":
            value = self.value(initializers[0], scope)
            is_literal = initializers[0][0] == "int"
        else:
            is_literal = len(initializers) == 1 and initializers[0][0] == "int"
            if bare in self.classes or names_module(bare) or bare.endswith("Options") or "vector" in bare:
                value = self.construct(bare, [("list", initializers)] if kind == "{" and "vector" in bare else initializers, scope)
            else:
                value = self.value(initializers[0], scope)
        if is_literal and INTEGERS.search(bare) and "vector" not in bare:
            value = self.overrides.get(name, value.value)
            is_size = self.names is None or name in self.names
            self.sizes[name] = value
            value = Int.size(name, value) if is_size else Int(value)
        elif bare in ("float", "double") and isinstance(value, Int):
            value = float(value.value)
        elif bare == "bool" and isinstance(value, Int):
            value = value.value != 0
        scope[name] = value

    # Expressions

    def values(self, expressions, scope):
        return [self.value(e, scope) for e in expressions]

    def value(self, expression, scope):
        return getattr(self, "value_" + expression[0])(expression, scope)

    def value_int(self, expression, scope):
        return Int(int(expression[1].rstrip("uUlL"), 0))

    def value_float(self, expression, scope):
        return float(expression[1])

    def value_string(self, expression, scope):
        return expression[1]

    def value_list(self, expression, scope):
        return self.values(expression[1], scope)

    def value_name(self, expression, scope):
        name = expression[1]
        if name in scope:
            return scope[name]
        if "this" in scope and name in scope["this"].fields:
            return scope["this"].fields[name]
        last = name.split("::")[-1]
        constants = {"true": True, "false": False, "nullptr": None, "NULL": None, "NAN": math.nan, "INFINITY": math.inf, "M_PI": math.pi}
        return constants[last] if last in constants else Opaque(last)

    def value_member(self, expression, scope):
        base = self.value(expression[1], scope)
        name = expression[2]
        if isinstance(base, Object) and name in base.fields:
            return base.fields[name]
        if isinstance(base, Module):
            if name in base.fields:
                return base.fields[name]
            if name == "options":
                return base.options
            if name in ("weight", "bias"):
                return Tensor([Int(0)], "f32")
        raise Untranslatable(f"the member {name} of {describe(base)}")

    def value_index(self, expression, scope):
        base = self.value(expression[1], scope)
        place = self.value(expression[2], scope)
        if isinstance(base, Tensor):
            return remember(base.reshaped(base.shape[1:]), Made("slice", None, [base, place]))
        if isinstance(base, list):
            return base[as_int(place).value]
        raise Untranslatable(f"an index of {describe(base)}")

    def value_unary(self, expression, scope):
        _, op, operand = expression
        value = self.value(operand, scope)
        if op == "!":
            return not self.truth(value)
        if op == "*" and isinstance(value, Iterator):
            return value.items[value.at]
        if op in ("+", "*", "&"):
            return value
        if isinstance(value, Tensor):
            return called("neg", [value], self.structure)
        return negate(value) if isinstance(value, Int) else -value

    def value_choice(self, expression, scope):
        return self.value(expression[2 if self.truth(self.value(expression[1], scope)) else 3], scope)

    def value_assign(self, expression, scope):
        _, op, place, right = expression
        value = self.value(right, scope)
        if op != "=":
            value = self.combined(op[0], self.value(place, scope), value)
        if place[0] == "name" and place[1] in scope:
            scope[place[1]] = value
        elif place[0] == "name" and "this" in scope:
            scope["this"].fields[place[1]] = value
        elif place[0] == "member":
            self.value(place[1], scope).fields[place[2]] = value
        elif place[0] == "index":
            base = self.value(place[1], scope)
            if isinstance(base, list):
                base[as_int(self.value(place[2], scope)).value] = value
            elif isinstance(base, Tensor):
                base.storage.note = "set element by element"
        return value

    def value_binary(self, expression, scope):
        _, op, left, right = expression
        first = self.value(left, scope)
        if op in ("&&", "||"):
            if self.truth(first) == (op == "||"):
                return op == "||"
            return self.truth(self.value(right, scope))
        return self.combined(op, first, self.value(right, scope))

    def combined(self, op, a, b):
        if op == "<<":
            return a  # what is printed
        if isinstance(a, Iterator) and op in "+-":
            return Int(a.at - b.at) if isinstance(b, Iterator) else Iterator(a.items, a.at + as_int(b).value * (1 if op == "+" else -1))
        tensors = [v for v in (a, b) if isinstance(v, Tensor)]
        if tensors:
            name = {"+": "add", "-": "sub", "*": "mul", "/": "div"}.get(op, "eq")
            return remember(called(name, tensors, self.structure), Made("operator", op, [a, b]))
        if isinstance(a, Opaque) or isinstance(b, Opaque):
            same = isinstance(a, Opaque) and isinstance(b, Opaque) and DTYPES.get(a.name, a.name) == DTYPES.get(b.name, b.name)
            return same if op == "==" else not same
        if op in ("==", "!=", "<", ">", "<=", ">="):
            x, y = (v.value if isinstance(v, Int) else v for v in (a, b))
            return {"==": x == y, "!=": x != y, "<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y}[op] if x is not None else op == "!="
        if isinstance(a, float) or isinstance(b, float):
            x, y = (float(v.value if isinstance(v, Int) else v) for v in (a, b))
            return {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else math.inf}[op]
        return {"+": add, "-": subtract, "*": multiply, "/": quotient, "%": remainder}[op](as_int(a), as_int(b))

    # Calls

    def value_call(self, expression, scope):
        _, function, arguments = expression
        if function[0] == "member":
            return self.method(self.value(function[1], scope), function[2], arguments, scope)
        if function[0] != "name":
            return self.forward(self.value(function, scope), self.values(arguments, scope))
        name = function[1]
        if name in scope or ("this" in scope and name in scope["this"].fields):
            return self.forward(self.value(function, scope), self.values(arguments, scope))
        return self.construct(name, arguments, scope)

    def construct(self, name, arguments, scope):
        """name(arguments), a function or the constructor of a class."""
        bare = re.sub(r"<.*>", "", name)
        last = bare.split("::")[-1]
        if last == self.entry:
            self.arguments = self.values(arguments, scope)
            return None
        if last == "allclose":
            self.compared += [a for a in self.values(arguments, scope)[:2] if isinstance(a, Tensor)]
            return True
        if last == "make_shared" or last == "make_unique":
            inner = name[name.index("<") + 1: name.rindex(">")]
            return self.construct(inner, arguments, scope)
        if last in self.classes:
            return self.instance(self.classes[last], self.values(arguments, scope))
        if last in ("multiplies", "plus") and not arguments:
            return Opaque(last)
        values = self.values(arguments, scope)
        if last in self.functions and self.functions[last].body is not None:
            return self.user_function(self.functions[last], values, None, scope)
        if last in ("static_cast", "reinterpret_cast", "const_cast", "move", "ref") or last in ("Device", "IntArrayRef", "Dtype", "ScalarType"):
            if last == "static_cast" and name[name.index("<"):] in ("<float>", "<double>") and isinstance(values[0], Int):
                return float(values[0].value)
            return values[0]
        if last == "vector":
            if values and isinstance(values[0], list):
                return list(values[0])
            if len(values) == 2 and isinstance(values[0], Iterator):
                return values[0].until(values[1])
            return [values[1] if len(values) > 1 else Int(0)] * as_int(values[0]).value if values else []
        if last == "get":
            return values[0][int(re.search(r"<(\d+)>", name)[1])]
        if last in ("sqrt", "pow", "exp", "log", "min", "max", "abs", "fabs", "ceil", "floor") and not any(isinstance(v, Tensor) for v in values):
            numbers = [float(v.value if isinstance(v, Int) else v) for v in values]
            if last in ("min", "max") and all(isinstance(v, Int) for v in values):
                return (min if last == "min" else max)(values, key=lambda v: v.value)
            return {"min": min, "max": max, "abs": abs}[last](*numbers) if last in ("min", "max", "abs") else getattr(math, last)(*numbers)
        if last == "accumulate" and isinstance(values[0], Iterator):
            combine = multiply if len(values) > 3 and values[3].name == "multiplies" else add
            result = as_int(values[2])
            for each in values[0].until(values[1]):
                result = combine(result, as_int(each))
            return result
        if last in ("Tensor",):
            return values[0] if values else Tensor([Int(0)], "f32")
        if last in ("TensorOptions", "dtype", "device", "Slice") or last.endswith("Options"):
            return Options(last, values)
        if "numeric_limits" in name:
            return {"infinity": math.inf, "lowest": -3.4e38, "max": 3.4e38, "quiet_NaN": math.nan}.get(last, 1e-7)
        if last == "is_available":
            return True
        if re.fullmatch(r"[A-Z][A-Z\d]*_[A-Z\d_]+", last) or last in ("cout", "cerr", "printf", "fprintf", "exit", "abort"):
            return Opaque(last)  # a macro that checks, or what is printed
        if re.fullmatch(r"scalarTypeToTypeMeta|typeMetaToScalarType|toScalarType", last):
            return values[0]
        if last.startswith("set_") and "::" in name:
            return Opaque(last)  # a setting of torch
        if last in ("synchronize", "cudaDeviceSynchronize", "manual_seed", "register_module_", "cudaGetLastError", "NoGradGuard", "seed"):
            return Opaque(last)
        if last in ("register_module", "register_parameter", "register_buffer"):
            scope["this"].fields[values[0]] = values[1]
            return values[1]
        if names_module(bare):
            return Module(last, values, self.structure)
        if "::" not in name and name not in ("at",) and INTEGERS.fullmatch(name):
            return values[0]
        if "::" not in bare and not any(isinstance(v, Tensor) for v in values):
            raise Untranslatable(f"the function {name}")
        return called(last, values, self.structure)

    def method(self, base, name, arguments, scope):
        if isinstance(base, Tensor):
            return self.tensor_method(base, name, self.values(arguments, scope))
        values = self.values(arguments, scope)
        if isinstance(base, Options):
            if not values:
                return base.settings.get(name)
            base.settings[name] = values[0]
            return base
        if isinstance(base, (Module, Object)):
            if name == "to" or name in ("half", "float"):
                self.convert(base, {"half": "f16", "float": "f32"}.get(name) or dtype_of(values, None))
                return base
            if name in ("eval", "train"):
                self.train(base, name == "train" and not (values and values[0] is False))
            if name in ("eval", "train", "zero_grad"):
                return base
            if name == "forward" or (isinstance(base, Object) and self.function_of(base, name)):
                return self.forward(base, values, name)
            raise Untranslatable(f"the method {name} of a module")
        if isinstance(base, list):
            if name == "data":
                return HostArray(base)
            if name == "size":
                return Int(len(base))
            return self.list_method(base, name, values)
        if isinstance(base, Opaque) or base is True or base is False:
            return Opaque(name)
        raise Untranslatable(f"the method {name} of {describe(base)}")

    def list_method(self, base, name, values):
        """Of a std::vector."""
        if name in ("push_back", "emplace_back"):
            base.append(values[0])
        elif name == "insert" and isinstance(values[0], Iterator):
            base[values[0].at:values[0].at] = values[1].until(values[2]) if len(values) == 3 else values[1] if isinstance(values[1], list) else [values[1]]
        elif name == "clear":
            base.clear()
        elif name in ("resize", "assign"):
            base[:] = (base + [values[1] if len(values) > 1 else Int(0)] * as_int(values[0]).value)[:as_int(values[0]).value] if name == "resize" else [values[1]] * as_int(values[0]).value
        elif name == "vec":
            return base
        elif name in ("begin", "cbegin", "end", "cend"):
            return Iterator(base, len(base) if "end" in name else 0)
        elif name == "erase":
            del base[values[0].at:values[1].at if len(values) > 1 else values[0].at + 1]
        elif name == "pop_back":
            base.pop()
        elif name in ("reserve", "shrink_to_fit"):
            return None
        elif name == "empty":
            return not base
        elif name in ("front", "back", "at") and base:
            return base[0 if name == "front" else -1 if name == "back" else as_int(values[0]).value]
        else:
            raise Untranslatable(f"the method {name} of a vector")
        return None

    def tensor_method(self, tensor, name, values):
        if name in ("data_ptr", "const_data_ptr", "mutable_data_ptr"):
            return Pointer(tensor)
        if name == "size":
            return tensor.shape[as_int(values[0]).value]
        if name == "sizes":
            return list(tensor.shape)
        if name in ("dim", "ndimension"):
            return Int(len(tensor.shape))
        if name == "numel":
            result = Int(1)
            for extent in tensor.shape:
                result = multiply(result, extent)
            return result
        if name == "defined":
            return [e.value for e in tensor.shape] != [0]
        if name in ("options", "scalar_type", "dtype"):
            kind = next(k for k, v in DTYPES.items() if v == tensor.dtype)
            return Opaque(kind)
        if name in ("item", "device", "is_cuda", "is_contiguous", "toBool"):
            return Opaque(name)
        if name == "set_data":
            tensor.shape, tensor.dtype, tensor.storage, tensor.made = list(values[0].shape), values[0].dtype, values[0].storage, values[0].made
            return tensor
        if name == "index":
            return self.sliced(tensor, values[0])
        return called(name, [tensor, *values], self.structure)

    def sliced(self, tensor, places):
        shape = list(tensor.shape)
        for axis, place in enumerate(places if isinstance(places, list) else [places]):
            if not isinstance(place, Options) or len(place.arguments) > 2:
                raise Untranslatable("an index of a tensor")
            first, last = [a for a in (*place.arguments, None, None)][:2]
            if isinstance(last, Int):
                shape[axis] = subtract(last, first) if isinstance(first, Int) else last
            elif isinstance(first, Int):
                shape[axis] = subtract(shape[axis], first)
        return remember(computed(shape, tensor.dtype, "index"), Made("slice", None, [tensor, places]))

    def train(self, base, training):
        base.training = training
        for value in base.fields.values():
            if isinstance(value, (Module, Object)):
                self.train(value, training)

    def convert(self, base, dtype):
        if dtype is None:
            return
        if isinstance(base, Module):
            base.convert(dtype)
        for value in base.fields.values():
            if isinstance(value, (Module, Object)):
                self.convert(value, dtype)
            elif isinstance(value, Tensor) and value.dtype.startswith(("f", "bf")):
                value.dtype = dtype

    def function_of(self, base, name):
        return next((f for f in base.definition.functions if f.name == name), None)

    def forward(self, base, values, name="forward"):
        if isinstance(base, Module):
            return base.forward(values)
        if isinstance(base, Object):
            function = self.function_of(base, name) or self.function_of(base, "operator()")
            if function:
                return self.user_function(function, values, base, {})
        raise Untranslatable(f"a call of {describe(base)}")

    def user_function(self, function, values, this, outer):
        scope = {} if this is None else {"this": this}
        defaults = values + [self.value(d, outer) for _, _, d in function.parameters[len(values):] if d is not None]
        scope.update((name, v) for (_, name, _), v in zip(function.parameters, defaults))
        try:
            self.execute(function.body, scope)
        except Returned as returned:
            return returned.value
        return None

    def instance(self, definition, values):
        if len(values) == 1 and isinstance(values[0], Object):
            return values[0]  # a holder of TORCH_MODULE made from its implementation
        this = Object(definition)
        for member in definition.members:
            if member[3] and member[4] and member[4][0][1] != "nullptr":
                self.declare(member, this.fields)
        constructor = next((f for f in definition.functions if f.name == definition.name), None)
        if constructor:
            scope = {"this": this}
            defaults = values + [self.value(d, {}) for _, _, d in constructor.parameters[len(values):] if d is not None]
            scope.update((name, v) for (_, name, _), v in zip(constructor.parameters, defaults))
            types = {m[2]: m[1] for m in definition.members}
            for field, arguments in constructor.initializers:
                kind = types.get(field, "")
                if names_module(kind) and not (len(arguments) == 1 and arguments[0][0] == "call" and arguments[0][1] == ("name", "register_module")):
                    this.fields[field] = self.construct(kind, arguments, scope)
                elif field.split("::")[-1] != "Module":
                    this.fields[field] = self.value(arguments[0], scope)
            self.execute(constructor.body, scope)
        return this
