import type { Command } from 'commander';

/** Makes every command of a program refuse arguments that it does not take, with an error that names the first one. */
export function refuseExcessArguments(program: Command): void {
  // commander's own error has only the number of arguments. A command inherits this setting when it is added, so this
  // function must be called before the commands are added.
  program.allowExcessArguments(true).hook('preAction', (_, command) => {
    const taken = command.registeredArguments;
    const excess = command.args.slice(taken.length);
    if (taken.at(-1)?.variadic === true || excess.length === 0) return;
    const most =
      taken.length === 0 ? 'no argument' : `at most ${taken.length} argument${taken.length === 1 ? '' : 's'}`;
    command.error(
      `error: unexpected argument '${excess[0]}': '${command.name()}' takes ${most}; ` +
        'an option that is a switch takes no value',
    );
  });
}
