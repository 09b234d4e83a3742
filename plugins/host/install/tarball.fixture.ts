import { gzipSync } from 'node:zlib';

/** Returns the bytes of an entry in the tar format. The path may be invalid. */
export function tarEntry(
  path: string,
  { type = '0', content = '' }: { readonly type?: string; readonly content?: string } = {},
): Buffer {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write(bytes.length.toString(8).padStart(11, '0'), 124);
  header.write(type, 156);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0`, 148);
  const body = Buffer.alloc(Math.ceil(bytes.length / 512) * 512);
  bytes.copy(body);
  return Buffer.concat([header, body]);
}

/** Returns a `.tgz` with these entries. */
export function tarball(...entries: readonly Buffer[]): Buffer {
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));
}

/** Returns an archive such as `npm pack` makes. `files` has contents by path. */
export function npmTarball(files: Readonly<Record<string, string>>): Buffer {
  return tarball(...Object.entries(files).map(([path, content]) => tarEntry(`package/${path}`, { content })));
}

/** Returns the files of a plugin that imports its dependencies. `more` are further fields of its package.json. */
export function pluginFiles(
  dependencies: Readonly<Record<string, unknown>> = {},
  more: object = {},
): Record<string, string> {
  const imports = Object.keys(dependencies).map((name) => `import '${name}';\n`);
  return {
    'plugin.yaml': 'name: demo\nversion: 1.0.0\n',
    'package.json': JSON.stringify({ name: 'demo', version: '1.0.0', type: 'module', dependencies, ...more }),
    'dist/index.js': `${imports.join('')}export default {};\n`,
  };
}
