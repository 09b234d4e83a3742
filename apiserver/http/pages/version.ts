/** The version of this package. */
export const homeostatVersion = '0.1.0';

/**
 * The response to `GET /version`: the version of Kubernetes whose API the server has, 1.32. A kubectl dispatcher
 * chooses the version of kubectl by `minor`, and needs a semantic version in `gitVersion`.
 */
export const serverVersion: Readonly<Record<string, string>> = Object.freeze({
  major: '1',
  minor: '32',
  gitVersion: `v1.32.0+homeostat.${homeostatVersion}`,
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '2026-11-21T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch}`,
});
