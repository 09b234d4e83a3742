import { readConfig } from '../serve/config.ts';
import { ConfigError } from '../serve/config-error.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { errorText } from '../text/error-text.ts';
import { checkAbsent, writeWhole } from '../text/output-file.ts';
import { issueCertificate } from './client-certificate.ts';
import type { CertificateFlags } from './client-certificate.ts';

export interface RunCertificateOptions extends ConfigSources, CertificateFlags {
  /** The file for the certificate. Default: `<user>.crt`. */
  readonly certOutput?: string | undefined;
  /** The file for the private key. Default: `<user>.key`. */
  readonly keyOutput?: string | undefined;
  /** True to replace existing files. */
  readonly force: boolean;
}

/**
 * Issues a certificate for a user, and writes the certificate and its key to two files. Returns the exit code: 0, 1, or
 * 2 for bad values.
 */
export async function runCertificate(options: RunCertificateOptions): Promise<number> {
  try {
    const { key, cert } = await issueCertificate(
      options,
      readConfig({ ...options, flags: { ...options.flags, tls: true } }),
    );
    const stem = fileName(options.user ?? '');
    const { certOutput = `${stem}.crt`, keyOutput = `${stem}.key`, force } = options;
    if (certOutput === keyOutput) throw new ConfigError('--cert-output, --key-output: must be two different files');
    if (!force) for (const path of [certOutput, keyOutput]) await checkAbsent(path);
    const { signal } = new AbortController();
    await writeWhole(keyOutput, [Buffer.from(key)], signal);
    await writeWhole(certOutput, [Buffer.from(cert)], signal);
    process.stderr.write(`wrote ${certOutput} and ${keyOutput}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : errorText(error)}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
}

/** Returns a file name for a user, whose own name may have slashes and colons. */
function fileName(user: string): string {
  return user.replaceAll(/[^\w.@-]/g, '_').replace(/^\.+/, '_');
}
