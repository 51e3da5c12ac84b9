"""ONNX messages field by field, in protobuf's wire format: right ones and wrong ones, without any library."""
import struct


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def packed(field, values):
    return text(field, b"".join(varint(value) for value in values))


def tensor(kind, dims, data, name=""):
    """The content of a TensorProto; `data`: its data fields."""
    return b"".join(number(1, size) for size in dims) + number(2, kind) + data + (text(8, name) if name else b"")


def floats(*values):
    return text(9, struct.pack(f"<{len(values)}f", *values))


def int64s(*values):
    return text(9, struct.pack(f"<{len(values)}q", *values))


def external(**entries):
    return number(14, 1) + b"".join(text(13, text(1, key) + text(2, str(value))) for key, value in entries.items())


def attribute(name, kind, value):
    return text(5, text(1, name) + value + number(20, kind))


def node(op, inputs, outputs, more=b"", name=""):
    body = b"".join(text(1, one) for one in inputs) + b"".join(text(2, one) for one in outputs)
    return body + (text(3, name) if name else b"") + text(4, op) + more


def nodes(*bodies):
    return b"".join(text(1, body) for body in bodies)


def value(name, shape=None, kind=1):
    dims = b"" if shape is None else text(2, b"".join(text(1, text(2, d) if isinstance(d, str) else number(1, d)) for d in shape))
    return text(1, name) + text(2, text(1, number(1, kind) + dims))


def inputs(*values):
    return b"".join(text(11, one) for one in values)


def outputs(*values):
    return b"".join(text(12, one) for one in values)


def initializer(name, content):
    return text(5, text(8, name) + content)


def sparse(dims, values, indices):
    return text(1, values) + text(2, indices) + b"".join(number(3, size) for size in dims)


def imports(domain, version):
    return (text(1, domain) if domain else b"") + number(2, version)


def function(name, reads, gives, body, version=13, more=b""):
    """Field 25 of a ModelProto: a function of the domain 'my'."""
    head = text(1, name) + b"".join(text(4, one) for one in reads) + b"".join(text(5, one) for one in gives)
    return text(25, head + b"".join(text(7, one) for one in body) + text(9, imports("", version)) + text(9, imports("my", 1)) +
                text(10, "my") + more)


def model(graph, more=b"", ir=8, version=13):
    return number(1, ir) + text(8, imports("", version)) + text(7, graph) + more
