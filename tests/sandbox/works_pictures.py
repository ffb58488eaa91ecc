# needs: matplotlib
# Every format that is drawn without a display.
import matplotlib
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.plot([1, 2, 3], [3, 1, 2], label="a line, \u03b1 \u00e9")
axes.set_title("$x^2$")
axes.legend()
starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF",
    "jpg": b"\xff\xd8", "ps": b"%!PS"}
for name, start in starts.items():
    figure.savefig("picture." + name)
    with open("picture." + name, "rb") as file:
        assert file.read(len(start)) == start, name
plt.close("all")
for name in starts:
    os.remove("picture." + name)
print("held")
