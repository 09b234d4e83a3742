import { finish } from './command.ts';

export async function skipWithoutKubectl(context: Mocha.Context): Promise<void> {
  const { code } = await finish('kubectl', ['version', '--client'], { environment: {} });
  if (code !== 0) context.skipBecause('there is no kubectl on the PATH: https://kubernetes.io/docs/tasks/tools');
}
