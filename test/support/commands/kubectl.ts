import { finish } from './command.ts';

let exitCode: Promise<number> | undefined;

async function versionCode(): Promise<number> {
  return (await finish('kubectl', ['version', '--client'], { environment: {} })).code;
}

export async function skipWithoutKubectl(context: Mocha.Context): Promise<void> {
  exitCode ??= versionCode();
  if ((await exitCode) !== 0)
    context.skipBecause('there is no kubectl on the PATH: https://kubernetes.io/docs/tasks/tools');
}
