# SPDX-License-Identifier: Apache-2.0

"""Writes what a libtorch driver compares with as a Python module: PyTorch's own program for the same tensors.

The module has
    TENSORS                 name -> (shape, type, distribution of the workload, torch's own distribution) of the memory that the driver fills or leaves to the entry
    CALL                    the call of the entry in C++, where p[i] is a pointer to the i-th tensor of arguments()
    INPUTS                  the tensors that reference() takes
    arguments(t, dtypes)    the tensors behind the entry's pointers, of a dictionary of TENSORS
    results(t, dtypes)      what the driver compares, once the entry has run
    reference(*inputs, dtypes=…)   what it compares that with, in the same order
`dtypes` says which type of torch stands for "f16" and the like, so that the same program runs in float64. Nothing of torch is needed to write it.
"""
import re

from modules import Module
from torchcalls import DTYPES, dtype_of
from values import HostArray, Int, Made, Opaque, Options, Pointer, Tensor, Untranslatable, as_int

HEAD = '''# Made by bench/kernelbench.py of {source}: what it hands to {entry}, and what PyTorch computes of the same tensors.
import torch
from operations import NATURAL, nn, F, operation

'''
WITH_TENSORS = re.compile(r"(Linear|Conv(Transpose)?\dd|BatchNorm\dd|InstanceNorm\dd|GroupNorm|LayerNorm|MultiheadAttention)$")


def plain(value):
    """An option or a number in Python. A tensor is none of them."""
    if isinstance(value, Int):
        return repr(value.value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(plain, value)) + "]"
    if isinstance(value, Opaque):
        if value.name in DTYPES:
            return f"dtypes[{DTYPES[value.name]!r}]"
        return repr(re.sub(r"^k(?=[A-Z])", "", value.name).lower())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float('{value}')"
    if isinstance(value, (bool, int, float, str)) or value is None:
        return repr(value)
    raise Untranslatable(f"an operand of the reference ({type(value).__name__.lower()})")


class Writer:
    """The statements of one function. `names` is shared by all functions of a module: the names of memory by storage."""

    def __init__(self, names, find):
        self.names, self.find, self.lines, self.done, self.used, self.operations = names, find, [], {}, [], {}

    def text(self, value):
        """Python that gives the value; statements before it go to self.lines."""
        if isinstance(value, Tensor) and not value.made and [e.value for e in value.shape] == [0]:
            return "None"  # a tensor that is not defined
        if isinstance(value, Tensor):
            return self.made(value.made) if value.made else self.memory(value)
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(self.text, value)) + "]"
        return plain(value)

    def memory(self, tensor):
        name = self.find(tensor)
        if name not in self.used:
            self.used.append(name)
        return name

    def made(self, made):
        if id(made) not in self.done:
            if made.kind == "item":
                expression = f"{self.made(made.arguments[0])}[{made.what}]"
            else:
                expression = getattr(self, "of_" + made.kind)(made.what, made.arguments)
            self.done[id(made)] = f"v{len(self.done)}"
            self.lines.append(f"{self.done[id(made)]} = {expression}")
        return self.done[id(made)]

    def of_operator(self, op, arguments):
        return f"{self.text(arguments[0])} {op} {self.text(arguments[1])}"

    def of_slice(self, _, arguments):
        places = arguments[1] if isinstance(arguments[1], list) else [arguments[1]]
        words = []
        for place in places:
            bounds = [plain(a) if isinstance(a, Int) else "None" for a in place.arguments] if isinstance(place, Options) else None
            words.append(plain(place) if bounds is None else "slice(" + ", ".join(bounds or ["None"]) + ")")
        return f"{self.text(arguments[0])}[{', '.join(words)}]"

    def of_call(self, name, arguments):
        if name in ("to", "type", "half", "float", "type_as"):
            rest = arguments[1:]
            dtype = {"half": "f16", "float": "f32"}.get(name) or dtype_of(rest, rest[0].dtype if rest and isinstance(rest[0], Tensor) else None)
            first = self.text(arguments[0])
            return f"{first}.to(dtypes[{dtype!r}])" if dtype else first
        words, settings = [], []
        for argument in arguments:
            if isinstance(argument, Options) and argument.kind.endswith("Options") and argument.kind != "TensorOptions":
                words += map(self.text, argument.arguments)
                settings += [f"{key}={self.text(value)}" for key, value in argument.settings.items()]
            elif not isinstance(argument, Options) and not (isinstance(argument, Opaque) and argument.name in ("kCUDA", "kCPU")):
                words.append(self.text(argument))
        operation = f"{name}_{len(words)}" + ("s" if settings else "")
        self.operations[operation] = f"operation({name!r}, {len(words)}, {bool(settings)})"
        return f"{operation}({', '.join(words + settings)})"

    def of_module(self, module, arguments):
        words = list(map(self.text, arguments))
        settings = {key: plain(value) for key, value in module.settings.items() if value is not None and not isinstance(value, Tensor)}
        if WITH_TENSORS.match(module.kind):
            return self.with_tensors(module, words, settings)
        options = [plain(a) for a in module.options.arguments] + [f"{key}={settings[key]}" for key in module.named if key in settings]
        mode = f".train({module.training})" if "Dropout" in module.kind else ""
        return f"nn.{module.kind}({', '.join(options)}){mode}({', '.join(words)})"

    def field(self, module, name):
        tensor = module.fields.get(name)
        return self.text(tensor) if isinstance(tensor, Tensor) else "None"

    def with_tensors(self, module, words, settings):
        kind, field = module.kind, lambda name: self.field(module, name)
        given = lambda *keys: "".join(f", {key}={settings[key]}" for key in keys if key in settings)
        if kind == "Linear":
            return f"F.linear({words[0]}, {field('weight')}, {field('bias')})"
        if kind.startswith("Conv"):
            name = "conv_transpose" if "Transpose" in kind else "conv"
            return f"F.{name}{module.dims}d({words[0]}, {field('weight')}, {field('bias')}{given('stride', 'padding', 'output_padding', 'dilation', 'groups')})"
        if kind.startswith("BatchNorm"):
            return (f"F.batch_norm({words[0]}, {field('running_mean')}, {field('running_var')}, {field('weight')}, {field('bias')}, training={module.training}"
                    f"{given('momentum', 'eps')})")
        if kind.startswith("InstanceNorm"):
            return f"F.instance_norm({words[0]}, weight={field('weight')}, bias={field('bias')}{given('eps')})"
        if kind == "GroupNorm":
            return f"F.group_norm({words[0]}, {settings['num_groups']}, {field('weight')}, {field('bias')}{given('eps')})"
        if kind == "LayerNorm":
            return f"F.layer_norm({words[0]}, {settings['normalized_shape']}, {field('weight')}, {field('bias')}{given('eps')})"
        out = module.fields["out_proj"]
        return (f"F.multi_head_attention_forward({', '.join(words[:3])}, {settings['embed_dim']}, {settings['num_heads']}, {field('in_proj_weight')}, {field('in_proj_bias')}, "
                f"None, None, False, 0.0, {self.field(out, 'weight')}, {self.field(out, 'bias')}, training={module.training})")


def filled_behind(value):
    """The tensors that the driver fills and `value` is made of."""
    if isinstance(value, Tensor):
        return filled_behind(value.made.arguments + [value.made.what]) if value.made else [value]
    if isinstance(value, Module):
        return filled_behind(list(value.fields.values()))
    return [each for part in value for each in filled_behind(part)] if isinstance(value, (list, tuple)) else filled_behind(value.arguments) if isinstance(value, Made) else []


class Reference:
    """One driver that was executed, and the parameters of the entry; text() is the module."""

    def __init__(self, driver, parameters, source="its driver"):
        self.driver, self.parameters, self.source, self.tensors, self.names = driver, parameters, source, {}, {}
        self.pointers = [(name, argument.tensor) for (_, name), argument in zip(parameters, driver.arguments) if isinstance(argument, Pointer) and argument.tensor is not None]
        for name, tensor in self.pointers:
            for each in filled_behind(tensor):
                if each.storage not in self.names:
                    self.name(each, name)

    def name(self, tensor, name):
        if name in self.tensors or not name.isidentifier():
            name = f"t{len(self.tensors)}"
        storage = tensor.storage
        self.names[storage] = name
        self.tensors[name] = ([e.value for e in tensor.shape], tensor.dtype, storage.init, storage.given or storage.init)

    def find(self, tensor):
        """The name of a tensor that the driver fills. One that the entry is not handed has torch's own values, since the entry has them as constants."""
        storage = tensor.storage
        if storage not in self.names:
            init = storage.given or storage.init
            if storage.note or not re.match(r"zeros|ones|constant|iota|$", init):
                raise Untranslatable("the reference has a tensor of random numbers that the entry is not handed")
            storage.init, storage.given = init, ""
            self.name(tensor, "")
        return self.names[storage]

    def pairs(self):
        """(what the entry wrote, what it is compared with)."""
        compared, ours = self.driver.compared, {tensor.storage for _, tensor in self.pointers}
        result = []
        for a, b in zip(compared[::2], compared[1::2]):
            written = [each for each in (a, b) if each.storage in ours]
            if len(written) == 1:
                result.append((written[0], b if written[0] is a else a))
        if not result:
            raise Untranslatable("no tensor of the entry is compared with what torch computes")
        return result

    def function(self, head, values, operations):
        writer = Writer(self.names, self.find)
        given = [writer.text(value) for value in values]
        operations.update(writer.operations)
        return writer, [head.format(", ".join(writer.used)), *(f"    {line}" for line in writer.lines), f"    return [{', '.join(given)}]", "", ""]

    def call(self):
        words, place = [], 0
        for (declared, name), argument in zip(self.parameters, self.driver.arguments):
            bare = re.sub(r"\bconst\b|&", "", declared).strip()
            if argument is None or isinstance(argument, Pointer) and argument.tensor is None:
                words.append("nullptr")
            elif isinstance(argument, Pointer):
                words.append(f"({declared})p[{place}]")
                place += 1
            elif isinstance(argument, (list, HostArray)):
                items = ", ".join(str(as_int(item).value) for item in (argument if isinstance(argument, list) else argument.items))
                words.append(f"{bare}{{{items}}}" if "*" not in bare else f"std::vector<{bare.replace('*', '').strip()}>{{{items}}}.data()")
            elif isinstance(argument, (Int, bool, int, float)):
                number = argument.value if isinstance(argument, Int) else argument
                words.append(f"({bare}){number!r}".replace("inf", "INFINITY").replace("True", "true").replace("False", "false"))
            else:
                raise Untranslatable(f"the argument '{name}' ({type(argument).__name__.lower()})")
        return f"{self.driver.entry}({', '.join(words)})"

    def text(self):
        operations = {}
        call, pairs = self.call(), self.pairs()
        reference, lines = self.function("def reference({}, *, dtypes=NATURAL):", [theirs for _, theirs in pairs], operations)
        handed, handed_lines = self.function("def of_arguments({}, *, dtypes):", [tensor for _, tensor in self.pointers], operations)
        written, written_lines = self.function("def of_results({}, *, dtypes):", [ours for ours, _ in pairs], operations)
        given = lambda writer: "".join(f"t[{name!r}], " for name in writer.used)
        return "\n".join([HEAD.format(source=self.source, entry=self.driver.entry), "TENSORS = {", *(f"    {name!r}: {what!r}," for name, what in self.tensors.items()), "}",
                          f"CALL = {call!r}", f"INPUTS = {reference.used!r}", *(f"{name} = {what}" for name, what in sorted(operations.items())), "", "",
                          *lines, *handed_lines, *written_lines,
                          "def arguments(t, dtypes=NATURAL):", f"    return of_arguments({given(handed)}dtypes=dtypes)", "", "",
                          "def results(t, dtypes=NATURAL):", f"    return of_results({given(written)}dtypes=dtypes)", ""])
