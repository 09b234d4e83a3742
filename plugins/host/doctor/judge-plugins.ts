import { join } from 'node:path';
import { installedPlugins } from '../install/installed-plugins.ts';
import { dependencyProblems } from '../manifest/dependencies.ts';
import { checkFits } from '../manifest/manifest.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { findMain, openPluginFolder } from '../package/plugin-folder.ts';
import type { ServeConfig } from '../serve/config.ts';
import { errorText } from '../text/error-text.ts';
import { hostVersion } from '../text/host-version.ts';
import type { Finding } from './finding.ts';
import { counted } from '../text/counted.ts';

const check = 'plugins';

/** Judges the folders of plugins, without running their code. */
export async function judgePlugins(
  config: Pick<ServeConfig, 'plugins' | 'pluginsDir' | 'serviceDomain'>,
): Promise<readonly Finding[]> {
  const { plugins, pluginsDir, serviceDomain } = config;
  const installed = pluginsDir === undefined ? [] : await installedPlugins(pluginsDir);
  const folders = [...plugins, ...installed.map((name) => join(pluginsDir ?? '', name))];
  const manifests = new Map<string, PluginManifest>();
  const findings: Finding[] = [];
  for (const folder of folders) {
    try {
      const { manifest, folder: real } = await openPluginFolder(folder);
      if (manifests.has(manifest.name)) throw new Error(`a second plugin with the name ${manifest.name}`);
      manifests.set(manifest.name, manifest);
      checkFits(manifest, { version: hostVersion(), serviceDomain });
      await findMain(real, manifest);
    } catch (error) {
      const mistakes = errorText(error).split('; ');
      const cure = `repair the plugin; homeostat check ${folder} shows details`;
      for (const [index, text] of mistakes.entries()) {
        const message = text.includes(folder) ? text : `${folder}: ${text}`;
        findings.push({ check, level: 'error', message, ...(index === mistakes.length - 1 ? { cure } : {}) });
      }
    }
  }
  for (const [name, problem] of dependencyProblems(manifests)) {
    const cure = 'install the plugins that this plugin needs';
    findings.push({ check, level: 'error', message: `plugin "${name}" ${problem}`, cure });
  }
  return findings.length > 0
    ? findings
    : [{ check, level: 'ok', message: `${counted(folders.length, 'plugin')} can be loaded` }];
}
