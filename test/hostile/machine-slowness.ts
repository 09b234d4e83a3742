const rounds = 5;

/** How long one round takes on the machine on which the limits were measured, when nothing else runs there. */
const usualMs = 4;

/** How many times longer this machine takes for the same work; at least 1. Stalls are judged by the processor they are on. */
export function machineSlowness(): number {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ [`k${index % 100}`]: `${index}` })));
  const times = Array.from({ length: rounds }, () => {
    const start = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.max(1, Math.min(...times) / usualMs);
}
