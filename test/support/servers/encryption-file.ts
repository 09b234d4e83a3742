import { chmod, writeFile } from 'node:fs/promises';

/** Returns the secret of a test's key: 32 bytes that are derived from the name of the key, in base64. */
export function secretOf(name: string): string {
  return Buffer.alloc(32, name).toString('base64');
}

/**
 * Returns an encryption configuration with the given keys. The server encrypts with the first one. The name `identity`
 * means plain text.
 */
export function encryptionConfig(keys: readonly string[], resources: readonly string[] = ['secrets']): string {
  const providers = keys.map((name) =>
    name === 'identity' ? { identity: {} } : { aesgcm: { keys: [{ name, secret: secretOf(name) }] } },
  );
  const config = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
  return JSON.stringify({ ...config, resources: [{ resources, providers }] });
}

/** Writes an encryption configuration to a file that only its owner can read. */
export async function writeEncryptionConfig(
  path: string,
  ...parts: Parameters<typeof encryptionConfig>
): Promise<string> {
  await writeFile(path, encryptionConfig(...parts));
  await chmod(path, 0o600);
  return path;
}
