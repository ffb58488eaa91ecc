from numpy import exp, pi, sin

from scipy.integrate import quad

result, error = quad(lambda x: exp(sin(2 * x)), 0, pi / 2)
print(f"result={result}")
print(f"error={error}")
