import { chmod, writeFile } from 'node:fs/promises';

/** The secret of a test's key: 32 bytes derived from its name. */
export function secretOf(name: string): string {
  return Buffer.alloc(32, name).toString('base64');
}

/** An encryption configuration with keys; the first one writes. The last provider is identity when the keys end with it. */
export function encryptionConfig(keys: readonly string[], resources: readonly string[] = ['secrets']): string {
  const providers = keys.map((name) =>
    name === 'identity' ? { identity: {} } : { aesgcm: { keys: [{ name, secret: secretOf(name) }] } },
  );
  const config = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
  return JSON.stringify({ ...config, resources: [{ resources, providers }] });
}

/** Writes the file, which only its owner can read. */
export async function writeEncryptionConfig(
  path: string,
  ...parts: Parameters<typeof encryptionConfig>
): Promise<string> {
  await writeFile(path, encryptionConfig(...parts));
  await chmod(path, 0o600);
  return path;
}
