/** Work of this process is measured in processor time: what else the machine does is no part of it. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
