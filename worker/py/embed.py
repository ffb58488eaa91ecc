"""Writes glue_data.h: the Python part of adder-zygote as C arrays.

usage: embed.py OUTPUT MODULE.py...

Run with the interpreter that adder-zygote embeds: the arrays hold marshalled
code objects, and their format belongs to one version of CPython.
"""
import marshal
import os
import sys


def c_array(data):
    lines = []
    for i in range(0, len(data), 12):
        row = "".join("0x%02x," % b for b in data[i:i + 12])
        lines.append("\t" + row)
    return "\n".join(lines)


def main():
    out, sources = sys.argv[1], sys.argv[2:]
    text = ["/* Made by embed.py; do not edit. */",
            "#ifndef ADDER_GLUE_DATA_H", "#define ADDER_GLUE_DATA_H", "",
            "#include <stddef.h>", "",
            "#define GLUE_PYTHON_HEX\t0x%08xu" % sys.hexversion,
            "#define GLUE_MODULES\t%d" % len(sources), "",
            "struct glue_source {", "\tconst char\t\t*name;",
            "\tconst unsigned char\t*data;", "\tsize_t\t\t\t len;", "};", ""]
    table = []
    for path in sources:
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as f:
            source = f.read()
        code = compile(source, "<adder %s>" % name, "exec", dont_inherit=True,
                       optimize=2)
        data = marshal.dumps(code)
        text += ["static const unsigned char glue_%s[] = {" % name,
                 c_array(data), "};", ""]
        table.append('\t{ "%s", glue_%s, %d },' % (name, name, len(data)))
    text += ["static const struct glue_source glue_sources[GLUE_MODULES] = {",
             *table, "};", "", "#endif", ""]
    tmp = out + ".tmp"
    with open(tmp, "w", encoding="ascii") as f:
        f.write("\n".join(text))
    os.replace(tmp, out)


main()
