const rounds = 5;

/**
 * The processor time, in ms, in which the reference machine parses `text` once, without other load. The limits of the
 * tests were measured on the reference machine.
 */
const usualMs = 4;

const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ [`k${index % 100}`]: `${index}` })));

/**
 * Returns the factor by which this machine is slower than the reference machine at the same work; at least 1. Tests
 * multiply their limits of stalls by it.
 */
export function machineSlowness(): number {
  const times = Array.from({ length: rounds }, () => {
    const start = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.max(1, Math.min(...times) / usualMs);
}
