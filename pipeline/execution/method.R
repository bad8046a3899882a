# Runs a method in R for pipeline.execution.programs: the file that is the first argument defines
# analyse(data, ...), which gets one data set and parameters by their names, and gives a named list
# or vector of numbers; NULL where there is no valid result.
input <- file("stdin", open = "r")
output <- file("/dev/stdout", open = "w")
sink(stderr())  # what the method prints does not mix with answers

before <- loadedNamespaces()
source(commandArgs(trailingOnly = TRUE)[1])
if (!exists("analyse")) stop("the file must define analyse <- function(data, ...)")
brought <- sort(setdiff(loadedNamespaces(), before))
versions <- vapply(brought, function(name) paste(name, getNamespaceVersion(name)), "")
writeLines(paste(c(R.version.string, versions), collapse = ", "), output)
flush(output)

read_table <- function() {
  count <- readLines(input, 1)
  if (length(count) == 0) quit("no")
  read.csv(text = readLines(input, as.integer(count)), check.names = FALSE)
}

repeat {
  parameters <- as.list(read_table())
  data <- read_table()
  set.seed(parameters$seed)
  takes <- names(formals(analyse))
  if (!("..." %in% takes)) parameters <- parameters[intersect(takes, names(parameters))]
  sets <- split(data[names(data) != "replication"], data$replication)
  results <- lapply(sets, function(set) unlist(do.call(analyse, c(list(set), parameters))))
  columns <- unique(unlist(lapply(results, names)))
  rows <- vapply(results, function(result) {
    values <- if (is.null(result)) rep(NA_real_, length(columns)) else as.numeric(result[columns])
    paste(ifelse(is.na(values) & !is.nan(values), "", sprintf("%.17g", values)), collapse = ",")
  }, "")
  writeLines(c(length(rows) + 1, paste(columns, collapse = ","), rows), output)
  flush(output)
}
