import { StoreError } from '../store-error.ts';

/** The packages for databases that only some installations use. They are optional peer dependencies. */
const packages = { mysql: 'mysql2@3', etcd: '@grpc/grpc-js@1 protobufjs@7' } as const;

/**
 * Imports the driver of a database. Resolves with the module. If the package is not installed, rejects with StoreError
 * `refused`, whose message says how to install it.
 */
export async function loadDriver<Module>(engine: keyof typeof packages, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing) throw cause;
    const name = packages[engine];
    throw new StoreError('refused', `${engine}: databases need a driver: npm install ${name}`, { cause });
  }
}
