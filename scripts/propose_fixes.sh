#!/usr/bin/env bash
# Runs the fixer and proposes what it fixed: one branch, one pull request, updated by the next run. The action uses it;
# so can cron and other forges, which need git alone (without `gh`, or without a token, the branch is all there is).
#
#   DDELINT_PATHS       what to check: words separated by blanks or line ends       [.]
#   DDELINT_PYTHON      the interpreter whose torch does the tracing                [ddelint's own]
#   DDELINT_ARGUMENTS   more options of `ddelint check`, likewise                   []
#   DDELINT_BRANCH      the branch of the proposal                                  [ddelint/fixes]
#   DDELINT_BASE        the branch that it is to be merged into                     [the one that is checked out]
#   DDELINT_REMOTE      where the branch is pushed                                  [origin]
#   DDELINT_FOLDER      where the patch and the body are left                       [a temporary folder]
#   DDELINT_PUSH        options of `git push`, words as above                       []
#   DDELINT_BIN         the command                                                 [ddelint]
#
# Exit code: 0, or 2 where ddelint or git could not do their work. Findings that remain are no failure.
set -euo pipefail

readonly longest_body=65000 # characters; GitHub takes 65,536

words() { # the words of $1, in the array `list`
  list=()
  local word
  for word in $1; do list+=("$word"); done
}

tell() { # an output of the step, where there is one
  if [[ -n "${GITHUB_OUTPUT:-}" ]]; then printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; fi
}

fix() {
  local list code=0
  set -f
  words "${DDELINT_PATHS:-.}"
  local paths=("${list[@]}")
  words "${DDELINT_ARGUMENTS:-}"
  set +f
  if [[ -n "${DDELINT_PYTHON:-}" ]]; then list+=(--python "$DDELINT_PYTHON"); fi
  "${DDELINT_BIN:-ddelint}" check "${paths[@]}" ${list[@]+"${list[@]}"} \
    --fix --patch "$patch" --output-format "markdown:$body" || code=$?
  if ((code > 1)); then exit 2; fi
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then cat "$body" >>"$GITHUB_STEP_SUMMARY"; fi
}

commit_patch() { # sets `commit`: the patch on top of what is checked out, made without touching branch or index
  local index tree
  index=$(mktemp -u)
  GIT_INDEX_FILE=$index git read-tree HEAD
  if ! GIT_INDEX_FILE=$index git apply --cached --whitespace=nowarn "$patch"; then
    echo "propose_fixes: the fixes do not fit what is committed: are there changes that are not?" >&2
    exit 2
  fi
  tree=$(GIT_INDEX_FILE=$index git write-tree)
  rm -f "$index"
  if [[ -n "$known" && "$(git rev-parse "$known^{tree}" "$known^" 2>/dev/null)" == "$tree
$(git rev-parse HEAD)" ]]; then
    commit=$known # the same as last time
  else
    commit=$(
      GIT_AUTHOR_NAME=${GIT_AUTHOR_NAME:-ddelint} GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL:-ddelint@users.noreply.github.com} \
        GIT_COMMITTER_NAME=${GIT_COMMITTER_NAME:-ddelint} \
        GIT_COMMITTER_EMAIL=${GIT_COMMITTER_EMAIL:-ddelint@users.noreply.github.com} \
        git commit-tree "$tree" -p HEAD -m "$title"
    )
  fi
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

open_or_update() {
  if ! command -v gh >/dev/null || [[ -z "${GH_TOKEN:-${GITHUB_TOKEN:-}}" ]]; then return; fi
  local number short="$folder/pull-request.md"
  awk -v most="$longest_body" '{ size += length($0) + 1 } size > most { print "\n(cut: the rest is in the summary of the run)"; exit } { print }' \
    "$body" >"$short"
  number=$(gh pr list --head "$branch" --base "$base" --state open --json number --jq '.[0].number // empty')
  if [[ -n "$number" ]]; then
    gh pr edit "$number" --title "$title" --body-file "$short"
  else
    gh pr create --head "$branch" --base "$base" --title "$title" --body-file "$short"
  fi
}

folder=${DDELINT_FOLDER:-$(mktemp -d)}
mkdir -p "$folder"
patch=$(realpath "$folder")/ddelint.patch
body=$(realpath "$folder")/ddelint.md
remote=${DDELINT_REMOTE:-origin}
branch=${DDELINT_BRANCH:-ddelint/fixes}
base=${DDELINT_BASE:-$(git rev-parse --abbrev-ref HEAD)}

fix
tell patch "$patch"
tell body "$body"
tell branch "$branch"
if [[ ! -s "$patch" ]]; then
  echo "propose_fixes: nothing to fix"
  tell changed false
  exit 0
fi
tell changed true
title=$(sed -n '1s/^#* *//p' "$body")
cd "$(git rev-parse --show-toplevel)"
known=$(git ls-remote "$remote" "refs/heads/$branch" | cut -f1)
if [[ -n "$known" ]]; then
  depth=()
  if [[ "$(git rev-parse --is-shallow-repository)" == true ]]; then depth=(--depth 2); fi
  git fetch --quiet ${depth[@]+"${depth[@]}"} "$remote" "$known"
fi
commit_patch
push
tell commit "$commit"
open_or_update
