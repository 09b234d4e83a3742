import { hostVersion } from '../text/host-version.ts';
import type { ServeConfig } from './config.ts';

const defaultUrl = 'http://127.0.0.1:8700';

/** Returns the first lines that a server prints at a terminal: its address, and how to log in. */
export function bannerOf(url: string, config: ServeConfig): string {
  const { auth, token, adminKubeconfig, database, console: hasConsole } = config;
  const login = token === undefined ? `with the token in ${adminKubeconfig}` : 'with the token of --token';
  const access = auth === 'open' ? 'everyone on this machine may do everything (--auth open)' : `log in ${login}`;
  // In the mode `open` there is no kubeconfig, and commands use the default URL. So the banner must name any other URL.
  const where = auth === 'open' && url !== defaultUrl ? ` --server ${url}` : '';
  const lines = [
    `Homeostat ${hostVersion()}, database ${withoutSecrets(database)}`,
    `  API      ${url}`,
    ...(hasConsole ? [`  Console  ${url}/console/`] : []),
    `  Access   ${access}`,
    `  Next     homeostat api-resources${where}, in another terminal`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the URL of a database without its user and its parameters, which may contain a password. */
function withoutSecrets(database: string): string {
  return database.replace(/^([^:]+:\/\/)[^/]*@/, '$1').replace(/\?.*$/s, '');
}
