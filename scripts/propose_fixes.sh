#!/usr/bin/env bash
# Runs the fixer and proposes what it fixed: one branch, one pull request, updated by the next run. In two steps, so that
# what runs the project's code has no token, and what has one runs none of that code. The actions use it; so can cron and
# other forges, which need git alone (without `gh`, or without a token, the branch is all there is).
#
#   propose_fixes.sh fix       run ddelint; leave patch, body and base in DDELINT_FOLDER, and the working tree as it was
#   propose_fixes.sh propose   read these, push the branch, open, update or close the pull request
#   propose_fixes.sh           both, one after the other
#
#   DDELINT_PATHS       what to check: words as a shell reads them, "with quotes"   [.]
#   DDELINT_PYTHON      the interpreter whose torch does the tracing                [ddelint's own]
#   DDELINT_ARGUMENTS   more options of `ddelint check`, likewise                   []
#   DDELINT_BRANCH      the branch of the proposal                                  [ddelint/fixes]
#   DDELINT_BASE        the branch that it is to be merged into                     [the one that is checked out]
#   DDELINT_REMOTE      where the branch is pushed                                  [origin]
#   DDELINT_FOLDER      where patch, body and base are left                         [a temporary folder]
#   DDELINT_PUSH        options of `git push`, words as above                       []
#   DDELINT_BIN         the command                                                 [ddelint]
#
# Exit code: 0, or 2 where ddelint or git could not do their work. Findings that remain are no failure, nor is a branch on
# which others have committed: it is left as it is, and the pull request gets a comment.
set -euo pipefail

readonly longest_body=65000 # characters; GitHub takes 65,536
readonly trailer=Ddelint-Tree
readonly marker="<!-- ddelint: commits of others -->"

fail() {
  echo "propose_fixes: $1" >&2
  exit 2
}

words() { # the words of $1, in the array `list`
  list=()
  if [[ -z "${1//[[:space:]]/}" ]]; then return; fi
  local word split
  split=$(printf '%s' "$1" | xargs printf '%s\n') || fail "quotes do not match: $1"
  while IFS= read -r word; do list+=("$word"); done <<<"$split"
}

tell() { # an output of the step, where there is one
  if [[ -n "${GITHUB_OUTPUT:-}" ]]; then printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"; fi
}

# ---------------------------------------------------------------- fix: no token, no network

restore() { # what ddelint has written is taken back, and nothing else
  if [[ -s "$patch" ]]; then (cd "$(git rev-parse --show-toplevel)" && git apply -R --whitespace=nowarn "$patch"); fi
}

fix() {
  local list code=0
  if [[ "${GITHUB_EVENT_NAME:-}" == pull_request_target && -n "${DDELINT_PYTHON:-}" ]]; then
    fail "on pull_request_target a trace would run a stranger's code with this repository's rights: use pull_request"
  fi
  words "${DDELINT_PATHS:-.}"
  local paths=("${list[@]}")
  words "${DDELINT_ARGUMENTS:-}"
  if [[ -n "${DDELINT_PYTHON:-}" ]]; then list+=(--python "$DDELINT_PYTHON"); fi
  rm -f "$patch" "$body" "$made_on"
  git rev-parse HEAD >"$made_on"
  trap restore EXIT
  # what runs next may run the project's code: it gets nothing that a later step trusts
  env -u GH_TOKEN -u GITHUB_TOKEN -u GITHUB_ENV -u GITHUB_PATH -u GITHUB_OUTPUT -u GITHUB_STATE -u GITHUB_STEP_SUMMARY \
    -u ACTIONS_RUNTIME_TOKEN -u ACTIONS_ID_TOKEN_REQUEST_TOKEN -u CI_JOB_TOKEN \
    "${DDELINT_BIN:-ddelint}" check "${paths[@]}" ${list[@]+"${list[@]}"} \
    --fix --patch "$patch" --output-format "markdown:$body" || code=$?
  if ((code > 1)); then exit 2; fi
  trap - EXIT
  restore || fail "the fixes cannot be taken back: something else has changed the files meanwhile"
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then cat "$body" >>"$GITHUB_STEP_SUMMARY"; fi
  tell patch "$patch"
  tell body "$body"
  tell folder "$folder"
  if [[ -s "$patch" ]]; then tell changed true; else tell changed false; fi
}

# ---------------------------------------------------------------- propose: runs nothing of the project

authorize() { # git uses the token that `gh` uses, whatever checkout has left
  if [[ -z "${GH_TOKEN:-}" || -z "${GITHUB_SERVER_URL:-}" ]]; then return; fi
  local key="http.$GITHUB_SERVER_URL/.extraheader"
  export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=$key GIT_CONFIG_VALUE_0="" GIT_CONFIG_KEY_1=$key
  GIT_CONFIG_VALUE_1="AUTHORIZATION: basic $(printf 'x-access-token:%s' "$GH_TOKEN" | base64 | tr -d '\n')"
  export GIT_CONFIG_VALUE_1
}

fetch() { # a commit, or a branch, of the remote
  local depth=()
  if [[ "$(git rev-parse --is-shallow-repository)" == true ]]; then depth=(--depth "${2:-2}"); fi
  git fetch --quiet ${depth[@]+"${depth[@]}"} "$remote" "$1"
}

start_of() { # the commit that the fixes go on: the one they were made on, where the base has it, or else the base's tip
  local tip made
  tip=$(git ls-remote "$remote" "refs/heads/$base" | cut -f1)
  if [[ -z "$tip" ]]; then fail "there is no branch $base on $remote"; fi
  fetch "$tip" 50 || exit 2
  made=$(cat "$made_on")
  if [[ "$made" =~ ^[0-9a-f]{40,64}$ ]] && git merge-base --is-ancestor "$made" "$tip" 2>/dev/null; then tip=$made; fi
  printf '%s\n' "$tip"
}

commit_patch() { # sets `commit`: the patch on top of `start`, made without touching branch or index
  local index tree odd
  odd=$(git apply --summary "$patch") || fail "the patch cannot be read"
  if [[ -n "$odd" ]]; then fail "the patch does more than change lines of files: $odd"; fi
  index=$(mktemp -u)
  GIT_INDEX_FILE=$index git read-tree "$start"
  if ! GIT_INDEX_FILE=$index git apply --cached --whitespace=nowarn "$patch"; then
    rm -f "$index"
    fail "the fixes do not fit what is committed: are there changes that are not, or is $base further by now?"
  fi
  tree=$(GIT_INDEX_FILE=$index git write-tree)
  rm -f "$index"
  odd=$(git diff-tree -r --name-only "$start" "$tree" | grep -v '\.py"\{0,1\}$' || true)
  if [[ -n "$odd" ]]; then fail "the patch changes what is no Python source: $odd"; fi
  if [[ -n "$known" && "$(git rev-parse "$known^{tree}" "$known^" 2>/dev/null)" == "$tree
$(git rev-parse "$start")" ]]; then
    commit=$known # the same as last time
  else
    commit=$(
      GIT_AUTHOR_NAME=${GIT_AUTHOR_NAME:-ddelint} GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL:-ddelint@users.noreply.github.com} \
        GIT_COMMITTER_NAME=${GIT_COMMITTER_NAME:-ddelint} \
        GIT_COMMITTER_EMAIL=${GIT_COMMITTER_EMAIL:-ddelint@users.noreply.github.com} \
        git commit-tree "$tree" -p "$start" -m "$title" -m "$trailer: $tree"
    )
  fi
}

is_ours() { # whether the tip of the branch is what an earlier run has pushed, and nobody has changed it
  local said
  said=$(git log -1 --format="%(trailers:key=$trailer,valueonly)" "$known" | tr -d '[:space:]')
  [[ -n "$said" && "$said" == "$(git rev-parse "$known^{tree}")" ]]
}

push() {
  local list
  words "${DDELINT_PUSH:-}"
  if [[ "$commit" == "$known" ]]; then
    echo "propose_fixes: $branch is up to date"
  else
    git push --quiet --force-with-lease="refs/heads/$branch:$known" ${list[@]+"${list[@]}"} \
      "$remote" "$commit:refs/heads/$branch" || exit 2
    echo "propose_fixes: pushed $branch"
  fi
}

has_gh() { command -v gh >/dev/null && [[ -n "${GH_TOKEN:-${GITHUB_TOKEN:-}}" ]]; }

open_number() { # the open pull request from this branch; one from a fork may have a branch of the same name
  gh pr list --head "$branch" --base "$base" --state open --json number,isCrossRepository \
    --jq '[.[] | select(.isCrossRepository | not)][0].number // empty'
}

open_or_update() {
  if ! has_gh; then return; fi
  local number short="$folder/pull-request.md"
  awk -v most="$longest_body" '{ size += length($0) + 1 } size > most { print "\n(cut: the rest is in the summary of the run)"; exit } { print }' \
    "$body" >"$short"
  number=$(open_number)
  if [[ -n "$number" ]]; then
    gh pr edit "$number" --title "$title" --body-file "$short"
  else
    gh pr create --head "$branch" --base "$base" --title "$title" --body-file "$short"
  fi
}

leave() { # others have committed to the branch: say so once
  echo "propose_fixes: $branch has commits of others, and is left as it is: merge it, or delete the branch" >&2
  tell refused true
  if ! has_gh; then return; fi
  local number said
  number=$(open_number)
  if [[ -z "$number" ]]; then return; fi
  said=$(gh pr view "$number" --json comments --jq '.comments[].body')
  if [[ "$said" != *"$marker"* ]]; then
    gh pr comment "$number" --body "$marker
This branch has commits that ddelint did not make, so it is not updated any more. Merge it, or delete the branch to get a new proposal."
  fi
}

close() { # nothing is left to propose
  echo "propose_fixes: nothing to fix"
  if [[ -z "$known" ]] || ! has_gh; then return; fi
  if ! is_ours; then
    leave
    return
  fi
  local number
  number=$(open_number)
  if [[ -n "$number" ]]; then gh pr close "$number" --comment "Nothing is left to fix."; fi
}

propose() {
  [[ -f "$body" && -f "$made_on" ]] || fail "there is nothing in $folder: run \`propose_fixes.sh fix\` first"
  git check-ref-format "refs/heads/$branch" || fail "$branch is no name of a branch"
  if [[ "$branch" == "$base" ]]; then fail "the fixes cannot go straight to $base: name another branch"; fi
  cd "$(git rev-parse --show-toplevel)"
  authorize
  tell branch "$branch"
  known=$(git ls-remote "$remote" "refs/heads/$branch" | cut -f1)
  if [[ -n "$known" ]]; then fetch "$known"; fi
  if [[ ! -s "$patch" ]]; then
    close
    return
  fi
  if [[ -n "$known" ]] && ! is_ours; then
    leave
    return
  fi
  title=$(sed -n '1s/^#* *//p' "$body" | tr -d '[:cntrl:]' | cut -c 1-200)
  start=$(start_of) || exit 2
  commit_patch
  push
  tell commit "$commit"
  open_or_update
}

step=${1:-both}
folder=${DDELINT_FOLDER:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(realpath "$folder")
patch=$folder/ddelint.patch
body=$folder/ddelint.md
made_on=$folder/ddelint.base
remote=${DDELINT_REMOTE:-origin}
branch=${DDELINT_BRANCH:-ddelint/fixes}
base=${DDELINT_BASE:-$(git rev-parse --abbrev-ref HEAD)}
case $step in
fix) fix ;;
propose) propose ;;
both)
  fix
  propose
  ;;
*) fail "fix, propose or nothing, not $step" ;;
esac
