import gc

import torch


def empties(model, loader, optimizer):
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
            optimizer.zero_grad()
        except RuntimeError as e:
            print(e)
            torch.cuda.empty_cache()


def says_so(model, loader, optimizer):
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
            optimizer.zero_grad()
        except RuntimeError:
            print("| WARNING: ran out of memory, skipping batch")
            continue


def asks(model, loader, optimizer):
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
            optimizer.zero_grad()
        except RuntimeError as e:
            if "out of memory" in str(e):
                gc.collect()
                continue
            print(e)


def part_of_the_step(model, loader, optimizer):
    for batch in loader:
        model(batch).backward()
        try:
            optimizer.step()
            optimizer.zero_grad()
        except RuntimeError as e:
            print(e)


def forward_only(model, loader, optimizer):
    for batch in loader:
        try:
            loss = model(batch)
        except RuntimeError as e:
            print(e)
            continue
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
