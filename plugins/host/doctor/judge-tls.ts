import type { TlsOptions } from '@homeostat/apiserver';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reachableName } from '../text/kubeconfig-text.ts';
import type { Finding } from './finding.ts';

const check = 'tls';
const dayMs = 86_400_000;
const warnDays = 21;

interface TlsPlace {
  readonly tls?: TlsOptions;
  readonly host: string;
  readonly hostNames: readonly string[];
}

/** Judges the files of TLS for a point in time. */
export function judgeTls({ tls, host, hostNames }: TlsPlace, nowMs: number): readonly Finding[] {
  if (tls === undefined) return [{ check, level: 'ok', message: 'off: plain HTTP' }];
  if ('directory' in tls) return judgeFolder(tls.directory, nowMs);
  const certificate = new X509Certificate(readFileSync(tls.certFile));
  const findings = [...judgeTime(tls.certFile, certificate, nowMs)];
  if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(tls.keyFile)))) {
    const message = `${tls.keyFile} is not the private key of ${tls.certFile}`;
    findings.push({ check, level: 'error', message, cure: 'name a certificate and its own private key' });
  }
  const name = reachableName(host, hostNames);
  if (certificate.checkHost(name) === undefined && certificate.checkIP(name) === undefined) {
    const message = `${tls.certFile} is not for ${name}`;
    const cure = `issue a certificate for this name, or use a certified name: ${certificate.subjectAltName ?? 'none'}`;
    findings.push({ check, level: 'warning', message, cure });
  }
  return findings;
}

/**
 * Judges the server's own folder of certificates. The server renews its certificate by itself, so only the certificate
 * authority can expire.
 */
function judgeFolder(folder: string, nowMs: number): readonly Finding[] {
  const path = join(folder, 'authority.pem');
  if (existsSync(path)) return judgeTime(path, new X509Certificate(readFileSync(path)), nowMs);
  const isNew = !['ca.crt', 'server.pem'].some((file) => existsSync(join(folder, file)));
  if (isNew) return [{ check, level: 'ok', message: `${folder}: the server will make an authority there` }];
  const message = `${path} is missing, and clients trust the authority that it held`;
  return [
    {
      check,
      level: 'error',
      message,
      cure: 'restore it from a backup, or empty the folder and write every kubeconfig again',
    },
  ];
}

function judgeTime(path: string, { validFrom, validTo }: X509Certificate, nowMs: number): readonly Finding[] {
  const leftDays = Math.floor((Date.parse(validTo) - nowMs) / dayMs);
  const cure = 'renew it';
  if (Date.parse(validFrom) > nowMs)
    return [{ check, level: 'error', message: `${path} is not valid before ${validFrom}`, cure: 'set the clock' }];
  if (leftDays < 0) return [{ check, level: 'error', message: `${path} expired on ${validTo}`, cure }];
  if (leftDays < warnDays) return [{ check, level: 'warning', message: `${path} expires on ${validTo}`, cure }];
  return [{ check, level: 'ok', message: `${path} is valid until ${validTo}` }];
}
