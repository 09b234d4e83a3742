/**
 * The scripts by shell. Each asks `homeostat __complete` with the words up to the cursor, and completes names of files
 * when the command prints no words.
 */
export const completionScripts: ReadonlyMap<string, string> = new Map([
  [
    'bash',
    `_homeostat() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  mapfile -t COMPREPLY < <(homeostat __complete -- "\${words[@]}" 2>/dev/null)
  if [[ \${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _homeostat homeostat
`,
  ],
  [
    'zsh',
    `_homeostat() {
  local -a found
  found=("\${(@f)$(homeostat __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -a found || _files
}
compdef _homeostat homeostat
`,
  ],
  [
    'fish',
    `function __homeostat_complete
  set -l words (commandline -opc) (commandline -ct)
  homeostat __complete -- $words[2..-1] 2>/dev/null
end
complete -c homeostat -a '(__homeostat_complete)'
`,
  ],
]);
