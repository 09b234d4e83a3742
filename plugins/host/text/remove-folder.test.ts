import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';
import { removeFolder } from './remove-folder.ts';

describe('removeFolder', () => {
  afterEach(removeFolders);

  it('deletes a folder with its content, but not the targets of its links', async () => {
    const folder = await makeFolder({ 'a/b/c/one': '', 'a/two': '', '.three': '' });
    const other = await makeFolder({ kept: '' });
    await symlink(other, join(folder, 'a/link'));
    await removeFolder(folder);
    expect(existsSync(folder)).to.equal(false);
    expect(existsSync(join(other, 'kept'))).to.equal(true);
  });

  it('does nothing when the folder does not exist', async () => {
    await removeFolder('/nowhere/at/all');
  });
});
