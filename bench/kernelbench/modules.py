# SPDX-License-Identifier: Apache-2.0

"""torch::nn modules: which parameters they have, how torch fills these, and the shape of what they return.

Torch fills scales with ones and shifts with zeros. Here they are drawn around these values, because a constant would hide a wrong index.
"""
import re

import shapes
from values import Int, Made, Options, Tensor, Untranslatable, as_int, multiply, quotient, remember

SCALE, SHIFT = "uniform(0.5, 1.5)", "uniform(-0.5, 0.5)"
NAMES = re.compile(r"(Linear|Bilinear|Conv\dd|ConvTranspose\dd|BatchNorm\dd|InstanceNorm\dd|GroupNorm|LayerNorm|MaxPool\dd|AvgPool\dd|AdaptiveAvgPool\dd|AdaptiveMaxPool\dd|"
                   r"Dropout(?:\dd)?|ReLU6?|LeakyReLU|GELU|SiLU|Tanh|Sigmoid|ELU|SELU|Softmax|LogSoftmax|Hardtanh|Softplus|Mish|Identity|MultiheadAttention|Embedding|Sequential|"
                   r"Flatten|\w+Loss)(?:Impl)?$")


def names_module(name):
    """Whether name is a class of torch::nn, of which one is made: known here, or a pointwise operator's."""
    if NAMES.search(name):
        return True
    last = re.sub(r"Impl$", "", name.split("::")[-1])
    return "nn::" in name and last[:1].isupper() and shapes.kind_of(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).lower()) == "pointwise"


ORDER = {"Linear": "in_features out_features", "Conv": "in_channels out_channels kernel_size", "MaxPool": "kernel_size", "AvgPool": "kernel_size",
         "BatchNorm": "num_features", "InstanceNorm": "num_features", "GroupNorm": "num_groups num_channels", "LayerNorm": "normalized_shape",
         "AdaptiveAvgPool": "output_size", "AdaptiveMaxPool": "output_size", "MultiheadAttention": "embed_dim num_heads"}
DEFAULTS = {"eps": 1e-5, "momentum": 0.1}


def drawn(shape, init):
    """A parameter of which torch makes a constant."""
    tensor = Tensor(shape, "f32", init)
    tensor.storage.given = "ones" if init == SCALE else "zeros"
    return tensor


class Module:
    """kind is the class name without torch::nn; settings are the options by name."""

    def __init__(self, kind, arguments, structure):
        kind = re.sub(r"Impl$", "", kind)
        self.kind, self.fields, self.structure, self.training = kind, {}, structure, True
        if len(arguments) == 1 and isinstance(arguments[0], Options):
            arguments, self.settings = arguments[0].arguments, dict(arguments[0].settings)
        else:
            self.settings = {}
        self.named = list(self.settings)
        family = re.sub(r"\d?d$", "", kind).replace("Transpose", "")
        self.settings.update(zip(ORDER.get(family, "").split(), arguments))
        self.dims = int(kind[-2]) if re.search(r"\dd$", kind) else 0
        self.options = Options(kind, arguments)
        self.options.settings = {**DEFAULTS, **self.settings}
        for name in ("kernel_size", "stride", "padding", "output_padding", "dilation", "groups", "num_groups", "num_heads", "output_size"):
            structure(self.settings.get(name))
        self.make_parameters()

    def option(self, name, default=None):
        return self.settings.get(name, default)

    def has(self, name, default=True):
        value = self.option(name, default)
        return bool(value.value if isinstance(value, Int) else value)

    def weights(self, shape, fan_in, bias):
        bound = f"{fan_in ** -0.5:.6g}"
        self.fields["weight"] = Tensor(shape, "f32", f"uniform(-{bound}, {bound})")
        if self.has("bias"):
            self.fields["bias"] = Tensor([bias], "f32", f"uniform(-{bound}, {bound})")

    def make_parameters(self):
        kind = self.kind
        if kind == "Linear":
            inputs, outputs = as_int(self.option("in_features")), as_int(self.option("out_features"))
            self.weights([outputs, inputs], inputs.value, outputs)
        elif kind.startswith("Conv"):
            inputs, outputs = as_int(self.option("in_channels")), as_int(self.option("out_channels"))
            kernel = shapes.expanded(self.option("kernel_size"), self.dims, None)
            groups = as_int(self.option("groups", 1))
            first, second = (inputs, outputs) if "Transpose" in kind else (outputs, inputs)
            if second.value % groups.value or first.value % groups.value:
                raise Untranslatable(f"{second.text()} channels in {groups.text()} groups")
            shape = [first, quotient(second, groups), *kernel]
            fan_in = shape[1].value
            for extent in kernel:
                fan_in *= extent.value
            self.weights(shape, fan_in, outputs)
        elif re.match("BatchNorm|InstanceNorm|GroupNorm|LayerNorm", kind):
            extents = self.option("normalized_shape") or [self.option("num_channels", self.option("num_features"))]
            shape = [as_int(e) for e in shapes.flat(extents)]
            if "num_groups" in self.settings and shape[0].value % as_int(self.option("num_groups")).value:
                raise Untranslatable(f"{shape[0].text()} channels in groups of GroupNorm")
            if self.has("affine", not kind.startswith("Instance")) and self.has("elementwise_affine"):
                self.fields.update(weight=drawn(shape, SCALE), bias=drawn(shape, SHIFT))
            if kind.startswith("BatchNorm"):
                self.fields.update(running_mean=drawn(shape, SHIFT), running_var=drawn(shape, SCALE))
        elif kind == "MultiheadAttention":
            width = as_int(self.option("embed_dim"))
            if width.value % as_int(self.option("num_heads")).value:
                raise Untranslatable("heads do not divide the width")
            bound = f"{(6 / (4 * width.value)) ** 0.5:.6g}"
            self.fields["in_proj_weight"] = Tensor([multiply(Int(3), width), width], "f32", f"uniform(-{bound}, {bound})")
            self.fields["in_proj_bias"] = drawn([multiply(Int(3), width)], SHIFT)
            self.fields["out_proj"] = Module("Linear", [width, width], self.structure)
            self.fields["out_proj"].fields["bias"] = drawn([width], SHIFT)

    def convert(self, dtype):
        for value in self.fields.values():
            if isinstance(value, Module):
                value.convert(dtype)
            elif isinstance(value, Tensor) and value.dtype.startswith(("f", "bf")):
                value.dtype = dtype

    def forward(self, arguments):
        made = Made("module", self, arguments)
        result = self.applied(arguments)
        return result if isinstance(result, Tensor) and result.made else remember(result, made)

    def applied(self, arguments):
        """What it gives, by its shape and type."""
        x, kind, get = arguments[0], self.kind, self.option
        if kind == "Linear":
            return shapes.linear(x, self.fields["weight"])
        if kind.startswith("ConvTranspose"):
            return shapes.transposed_convolution(x, self.fields["weight"], get("stride"), get("padding"), get("output_padding"), get("groups"), get("dilation"))
        if kind.startswith("Conv"):
            return shapes.convolution(x, self.fields["weight"], get("stride"), get("padding"), get("dilation"), get("groups"))
        if re.match("(Max|Avg)Pool", kind):
            return shapes.pool(x, self.dims, get("kernel_size"), get("stride"), get("padding"), get("dilation"), self.has("ceil_mode", False))
        if kind.startswith("Adaptive"):
            return shapes.computed([*x.shape[: -self.dims], *shapes.expanded(get("output_size"), self.dims, None)], x.dtype, kind)
        if kind == "MultiheadAttention":
            return [shapes.computed(x.shape, x.dtype, kind), shapes.computed([x.shape[1], x.shape[0], x.shape[0]], x.dtype, kind)]
        if kind == "Sequential":
            for module in self.options.arguments:
                x = module.forward([x])
            return x
        if kind.endswith("Loss"):
            return shapes.computed([], x.dtype, kind)
        if kind == "Flatten":
            first, last = as_int(get("start_dim", 1)).value, as_int(get("end_dim", -1)).value % len(x.shape)
            return shapes.viewed(x, [*x.shape[:first], Int(-1), *x.shape[last + 1:]])
        if kind in ("Bilinear", "Embedding"):
            raise Untranslatable(f"torch::nn::{kind}")
        return shapes.computed(x.shape, x.dtype, kind)
