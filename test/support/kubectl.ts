import { finish } from './command.ts';
import type { Finished } from './command.ts';

interface KubectlOptions {
  /** What it reads from stdin. */
  readonly input?: string;
}

/** Runs kubectl to its end, for at most 30 s. */
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<Finished>;

export interface KubectlPlace {
  /** A folder of the test's own, where it caches what it discovers. */
  readonly home: string;
  readonly kubeconfig: string;
}

/** undefined where there is no kubectl, which in CI is an error. */
export async function findKubectl({ home, kubeconfig }: KubectlPlace): Promise<Kubectl | undefined> {
  const kubectl: Kubectl = async (args, { input } = {}) =>
    finish('kubectl', args, { environment: { HOME: home, KUBECONFIG: kubeconfig }, input });
  const { code, stderr } = await kubectl(['version', '--client']);
  if (code === 0) return kubectl;
  if (process.env['CI'] === 'true') throw new Error(`there is no kubectl: ${stderr}`);
  process.stderr.write('skipped, as there is no kubectl: ');
  return undefined;
}
