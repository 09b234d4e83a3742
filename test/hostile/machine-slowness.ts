const rounds = 5;

/** The time of one round on the machine on which the limits were measured, without other load. */
const usualMs = 4;

const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ [`k${index % 100}`]: `${index}` })));

/** How many times longer this machine takes for the same work; at least 1. The limits of stalls are scaled by it. */
export function machineSlowness(): number {
  const times = Array.from({ length: rounds }, () => {
    const start = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.max(1, Math.min(...times) / usualMs);
}
